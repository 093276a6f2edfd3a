// A promise in the parameters: nobody is asked.
// expect {"effects": [], "fails": "promise", "asks": 0, "needs": ["approvals"]}
await tools.m.clear({ body: { reason: Promise.resolve("x") as any } });
return 1;
