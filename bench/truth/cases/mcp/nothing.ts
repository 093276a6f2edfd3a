// An answer without content.
// expect {"result": null, "needs": ["mcp"]}
return await tools.odd_mcp.nothing({});
