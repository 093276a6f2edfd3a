// A call that needs approval, not awaited.
// expect {"result": "cleared", "effects": ["clear {\"reason\":\"t\"}"], "asks": 1, "needs": ["approvals"]}
tools.m.clear({ body: { reason: "t" } });
return "cleared";
