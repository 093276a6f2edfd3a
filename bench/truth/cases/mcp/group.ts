// A name with a dot is a group.
// expect {"result": "opened", "needs": ["mcp"]}
return await (tools.odd_mcp as any).repo.open({});
