// null for an enum that is nullable.
// expect {"result": {"got": {"s": null}}, "needs": ["openapi"]}
return (await tools.odd.nullable({ body: { s: null } })).body;
