// 204 has no body.
// expect {"result": "deleted", "effects": ["delete 4"]}
await tools.m.closeTicket({ path: { id: 4 } });
return "deleted";
