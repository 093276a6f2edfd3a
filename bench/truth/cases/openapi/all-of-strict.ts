// allOf with additionalProperties false in one branch.
// expect {"result": {"got": {"a": "1", "b": "2"}}, "needs": ["openapi"]}
return (await tools.odd.merged({ body: { a: "1", b: "2" } })).body;
