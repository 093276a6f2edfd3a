// A value that the enum does not have.
// expect {"effects": [], "fails": "\"a\"|one of|enum", "needs": ["openapi"]}
return (await (tools.odd.nullable as any)({ body: { s: "c" } })).body;
