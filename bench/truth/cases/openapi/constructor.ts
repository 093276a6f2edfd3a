// A parameter called constructor is left out.
// expect {"result": {"year": "2026"}, "needs": ["openapi"]}
return (await tools.odd.constructorQuery({ query: { year: 2026 } })).body;
