// A lone surrogate in the parameters of a call.
// expect {"result": 1}
await tools.m.put({ body: { x: "a\uD800b" } });
return 1;
