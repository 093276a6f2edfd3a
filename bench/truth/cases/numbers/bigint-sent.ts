// A bigint is sent as an integer.
// expect {"result": 1, "effects": ["saveRow 9007199254740993"]}
await tools.m.saveRow({ body: { id: 9007199254740993n } });
return 1;
