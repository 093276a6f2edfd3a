// JSON that comes as text/plain.
// expect {"result": 1, "needs": ["openapi"]}
return (await tools.m.mislabeled({})).body.a;
