// An operation in another file of the same origin.
// expect {"result": 2, "needs": ["openapi"]}
return (await tools.odd.relative({ query: { page: 1 } })).body.items.length;
