// A return in a branch; the other branch has none.
// expect {"result": "early", "needs": ["completion"]}
if (1 + 1 === 2) return "early";
"late";
