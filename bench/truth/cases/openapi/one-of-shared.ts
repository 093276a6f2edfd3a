// oneOf of two objects that share a member.
// expect {"result": {"got": {"name": "x"}}, "needs": ["openapi"]}
return (await tools.odd.shared({ body: { name: "x" } })).body;
