// A call of an MCP tool without await.
// expect {"result": "ok", "effects": ["say {\"text\":\"x\"}"], "needs": ["mcp"]}
tools.odd_mcp.say({ text: "x" });
return "ok";
