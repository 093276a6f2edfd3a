// A block of an unknown type beside a text.
// expect {"result": ["a text", {"type": "chart", "points": [1, 2]}], "needs": ["mcp"]}
return await tools.odd_mcp.unknown_block({});
