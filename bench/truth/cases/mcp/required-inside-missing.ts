// required inside a property, and the member is missing.
// expect {"effects": [], "fails": "coin", "needs": ["mcp"]}
return await tools.odd_mcp.required_inside({} as any);
