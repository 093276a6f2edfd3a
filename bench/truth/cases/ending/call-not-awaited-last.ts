// A call that is not awaited as the last expression.
// expect {"result": {"ok": true, "x": 1}, "needs": ["completion"]}
tools.m.put({ body: { x: 1 } }).then(({ body }) => body);
