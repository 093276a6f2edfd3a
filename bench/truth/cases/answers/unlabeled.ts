// JSON that comes without a type.
// expect {"result": 1, "needs": ["openapi"]}
return (await tools.m.unlabeled({})).body.a;
