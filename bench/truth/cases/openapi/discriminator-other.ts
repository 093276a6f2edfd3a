// The other branch of the discriminator.
// expect {"result": {"got": {"petType": "Dog", "name": "y"}}, "needs": ["openapi"]}
return (await tools.odd.pet({ body: { petType: "Dog", name: "y" } })).body;
