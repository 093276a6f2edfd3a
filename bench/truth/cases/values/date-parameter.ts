// A date in the parameters of a call.
// expect {"result": 1, "effects": ["put \"1970-01-01T00:00:00.000Z\""]}
await tools.m.put({ body: { x: new Date(0) } });
return 1;
