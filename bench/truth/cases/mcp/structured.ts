// An answer with structured content.
// expect {"result": {"count": 5}, "needs": ["mcp"]}
return await tools.odd_mcp.add({ a: 2, b: 3 });
