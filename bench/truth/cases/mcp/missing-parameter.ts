// A required parameter is missing: nothing is sent.
// expect {"effects": [], "fails": "b", "needs": ["mcp"]}
return await (tools.odd_mcp.add as any)({ a: 1 });
