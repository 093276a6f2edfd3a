// A value of an enum that is nullable.
// expect {"result": {"got": {"s": "a"}}, "needs": ["openapi"]}
return (await tools.odd.nullable({ body: { s: "a" } })).body;
