// Parameters are given flat, without body.
// expect {"effects": [], "fails": "body|known|required", "needs": ["openapi"]}
await (tools.m.put as any)({ x: 1 });
return 1;
