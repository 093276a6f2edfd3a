// A Map in the parameters of a call.
// expect {"result": 1, "effects": ["put {\"a\":\"x\"}"]}
await tools.m.put({ body: { x: new Map([["a", "x"]]) } });
return 1;
