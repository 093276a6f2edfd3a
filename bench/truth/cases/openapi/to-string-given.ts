// Parameters called toString and valueOf are given.
// expect {"result": {"toString": "a", "valueOf": "b"}, "needs": ["openapi"]}
return (await tools.odd.constructorQuery({ query: { toString: "a", valueOf: "b" } as any })).body;
