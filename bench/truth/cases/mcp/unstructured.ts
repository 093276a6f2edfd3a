// Structured content is promised and missing; the text is JSON.
// expect {"result": {"count": 4}, "needs": ["mcp"]}
return await tools.odd_mcp.unstructured({});
