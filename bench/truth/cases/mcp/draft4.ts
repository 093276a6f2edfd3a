// A bound of draft 4.
// expect {"result": "n 3", "needs": ["mcp"]}
return await tools.odd_mcp.draft4({ n: 3 });
