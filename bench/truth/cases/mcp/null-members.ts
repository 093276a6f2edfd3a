// Members of the answer are null.
// expect {"result": "fine", "needs": ["mcp"]}
return await tools.odd_mcp.null_members({});
