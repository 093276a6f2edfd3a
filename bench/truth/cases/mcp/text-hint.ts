// A hint that is a text.
// expect {"result": "text hint", "needs": ["mcp"]}
return await tools.odd_mcp.text_hint({});
