// Every operation that can be read is there.
// expect {"result": true, "needs": ["openapi"]}
const found = await cyrnel.discoverTools({ serviceId: "odd", limit: 100 });
return found.length >= 10;
