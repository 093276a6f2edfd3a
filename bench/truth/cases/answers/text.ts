// A text answer.
// expect {"result": "hello", "needs": ["openapi"]}
return (await tools.m.text({})).body;
