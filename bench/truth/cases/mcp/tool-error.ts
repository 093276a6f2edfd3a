// A tool says that it failed.
// expect {"fails": "out of paper", "needs": ["mcp"]}
return await tools.odd_mcp.failing({});
