// A typed array in the parameters of a call.
// expect {"result": 1, "effects": ["put [1,2]"]}
await tools.m.put({ body: { x: new Uint8Array([1, 2]) } });
return 1;
