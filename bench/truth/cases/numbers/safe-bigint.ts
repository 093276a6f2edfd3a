// A small bigint is an ordinary integer.
// expect {"result": 1, "effects": ["saveRow 7"]}
await tools.m.saveRow({ body: { id: 7n } });
return 1;
