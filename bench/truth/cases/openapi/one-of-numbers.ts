// oneOf of integer and number takes an integer.
// expect {"result": {"got": {"v": 1}}, "needs": ["openapi"]}
return (await tools.odd.number({ body: { v: 1 } })).body;
