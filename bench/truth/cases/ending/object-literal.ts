// An object in parentheses.
// expect {"result": {"a": 1}, "needs": ["completion"]}
({ a: 1 });
