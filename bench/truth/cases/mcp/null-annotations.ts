// annotations is null.
// expect {"result": "no annotations", "needs": ["mcp"]}
return await tools.odd_mcp.null_annotations({});
