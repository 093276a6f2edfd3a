// An answer of one text.
// expect {"result": "hi", "needs": ["mcp"]}
return await tools.odd_mcp.say({ text: "hi" });
