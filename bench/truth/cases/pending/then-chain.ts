// A chain of then, not returned.
// expect {"result": "ok", "effects": ["put \"first\"", "put \"second\""]}
tools.m.put({ body: { x: "first" } }).then(() => tools.m.put({ body: { x: "second" } }));
return "ok";
