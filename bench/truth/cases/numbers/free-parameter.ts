// A bigint where the schema says nothing.
// expect {"result": 1, "effects": ["put 9007199254740993"]}
await tools.m.put({ body: { x: 9007199254740993n } });
return 1;
