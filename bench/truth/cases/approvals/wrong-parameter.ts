// Parameters that do not fit: nobody is asked.
// expect {"effects": [], "fails": "reason", "asks": 0, "needs": ["approvals"]}
await (tools.m.clear as any)({ body: {} });
return 1;
