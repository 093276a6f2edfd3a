// A required parameter is missing: nothing is sent.
// expect {"effects": [], "fails": "x|body|required", "needs": ["openapi"]}
await (tools.m.put as any)({ body: {} });
return 1;
