// An Error in the parameters of a call.
// expect {"result": 1, "effects": ["put {\"name\":\"Error\",\"message\":\"m\"}"]}
await tools.m.put({ body: { x: new Error("m") } });
return 1;
