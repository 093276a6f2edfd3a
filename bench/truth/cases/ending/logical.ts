// A logical expression.
// expect {"result": "fallback", "needs": ["completion"]}
const name = "";
name || "fallback";
