// A call that needs approval, after other un-awaited work.
// expect {"result": "ok", "effects": ["put 1", "clear {\"reason\":\"after\"}"], "asks": 1, "needs": ["approvals"]}
(async () => {
  await tools.m.put({ body: { x: 1 } });
  await tools.m.clear({ body: { reason: "after" } });
})();
return "ok";
