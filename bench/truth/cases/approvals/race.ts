// A call that needs approval loses a race.
// expect {"result": "other", "effects": ["clear {\"reason\":\"race\"}"], "asks": 1, "needs": ["approvals"]}
return await Promise.race([
  tools.m.clear({ body: { reason: "race" } }).then(() => "approved"),
  Promise.resolve("other"),
]);
