// Hints, title, description and outputSchema are null.
// expect {"result": "null hints", "needs": ["mcp"]}
return await tools.odd_mcp.null_hints({});
