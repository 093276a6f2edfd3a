// The value of the last expression.
// expect {"result": [1, 2, 3], "needs": ["completion"]}
const a = [3, 1, 2];
a.sort();
a;
