// Three calls that need approval, none awaited.
// expect {"result": "all", "effects": ["clear {\"reason\":\"0\"}", "clear {\"reason\":\"1\"}", "clear {\"reason\":\"2\"}"], "asks": 3, "needs": ["approvals"]}
for (let index = 0; index < 3; index++) tools.m.clear({ body: { reason: String(index) } });
return "all";
