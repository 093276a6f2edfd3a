// A text of digits is sent where an integer is asked for.
// expect {"result": 1, "effects": ["saveRow 9007199254740993"], "needs": ["openapi"]}
await tools.m.saveRow({ body: { id: "9007199254740993" } });
return 1;
