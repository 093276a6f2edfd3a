// A schema that refers to itself.
// expect {"result": {"got": {"value": 1, "next": {"value": 2}}}, "needs": ["openapi"]}
return (await tools.odd.list({ body: { value: 1, next: { value: 2 } } })).body;
