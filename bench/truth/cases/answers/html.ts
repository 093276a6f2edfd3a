// JSON that comes as text/html.
// expect {"result": 1, "needs": ["openapi"]}
return (await tools.m.html({})).body.a;
