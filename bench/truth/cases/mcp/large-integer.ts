// A large integer in structured content.
// expect {"result": "9007199254740993", "needs": ["mcp"], "loud": "rounded"}
return String((await tools.odd_mcp.big_number({})).id);
