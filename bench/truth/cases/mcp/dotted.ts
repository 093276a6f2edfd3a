// Names with a dot and with a slash that would be one.
// expect {"result": 2, "needs": ["mcp"]}
const found = await cyrnel.discoverTools({ serviceId: "odd_mcp", limit: 100 });
return found.filter(({ id }) => /issues/.test(id)).length;
