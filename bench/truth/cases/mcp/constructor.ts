// A parameter called constructor is left out.
// expect {"result": "{\"season\":2026}", "needs": ["mcp"]}
return await tools.odd_mcp.constructor_member({ season: 2026 } as any);
