// A bound of draft 4 is kept.
// expect {"effects": [], "fails": "0", "needs": ["mcp"]}
return await tools.odd_mcp.draft4({ n: 0 });
