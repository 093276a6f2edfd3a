// The type int.
// expect {"result": "n 3", "needs": ["mcp"]}
return await tools.odd_mcp.type_int({ n: 3 });
