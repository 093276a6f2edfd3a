// A parameter with a wrong name: nothing is sent.
// expect {"effects": [], "fails": "titel|title|known|required", "needs": ["openapi"]}
await (tools.m.openTicket as any)({ body: { titel: "t" } });
return 1;
