// Un-awaited work goes on after the approval.
// expect {"result": "ok", "effects": ["clear {\"reason\":\"w\"}", "put \"after\""], "asks": 1, "needs": ["approvals"]}
tools.m.clear({ body: { reason: "w" } }).then(() => tools.m.put({ body: { x: "after" } }));
return "ok";
