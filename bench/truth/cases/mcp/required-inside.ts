// required inside a property.
// expect {"result": "coin btc", "needs": ["mcp"]}
return await tools.odd_mcp.required_inside({ coin: "btc" });
