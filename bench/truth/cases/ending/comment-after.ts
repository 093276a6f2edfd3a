// A comment follows the last expression.
// expect {"result": 9, "needs": ["completion"]}
const n = 9;
n; // the answer
