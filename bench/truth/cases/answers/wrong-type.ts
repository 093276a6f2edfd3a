// A text where an integer is asked for.
// expect {"fails": "integer|number", "needs": ["openapi"]}
await (tools.m.user as any)({ path: { id: "abc" } });
return 1;
