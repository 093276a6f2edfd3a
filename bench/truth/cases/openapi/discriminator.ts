// oneOf with a discriminator whose branches overlap.
// expect {"result": {"got": {"petType": "Cat", "name": "x"}}, "needs": ["openapi"]}
return (await tools.odd.pet({ body: { petType: "Cat", name: "x" } })).body;
