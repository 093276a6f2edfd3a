// Writes before and after an approval are made once each.
// expect {"result": 2, "effects": ["put 1", "clear {\"reason\":\"b\"}", "put 2"], "asks": 1, "needs": ["approvals"]}
await tools.m.put({ body: { x: 1 } });
await tools.m.clear({ body: { reason: "b" } });
await tools.m.put({ body: { x: 2 } });
return 2;
