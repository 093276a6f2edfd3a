// A conditional as the last expression.
// expect {"result": "yes", "needs": ["completion"]}
const n = 3;
n > 2 ? "yes" : "no";
