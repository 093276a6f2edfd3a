// A parameter called constructor is given.
// expect {"result": {"constructor": "ferrari", "year": "2026"}, "needs": ["openapi"]}
return (await tools.odd.constructorQuery({ query: { constructor: "ferrari", year: 2026 } as any })).body;
