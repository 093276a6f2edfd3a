// The same, awaited: the control.
// expect {"result": {"cleared": 3}, "effects": ["clear {\"reason\":\"t\"}"], "asks": 1, "needs": ["approvals"]}
const { body } = await tools.m.clear({ body: { reason: "t" } });
return body;
