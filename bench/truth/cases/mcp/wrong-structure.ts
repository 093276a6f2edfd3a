// Structured content of another type.
// expect {"oneOf": [{"count": 5}, [5]], "needs": ["mcp"]}
return await tools.odd_mcp.wrong_structure({});
