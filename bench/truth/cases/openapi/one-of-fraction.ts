// oneOf of integer and number takes a fraction.
// expect {"result": {"got": {"v": 1.5}}, "needs": ["openapi"]}
return (await tools.odd.number({ body: { v: 1.5 } })).body;
