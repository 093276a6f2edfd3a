// properties and required are null.
// expect {"result": "null properties", "needs": ["mcp"]}
return await tools.odd_mcp.null_properties({});
