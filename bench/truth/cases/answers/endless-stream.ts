// An endless event stream gives what came by then.
// expect {"result": true, "needs": ["openapi"], "timeoutMs": 45000}
const answer = await tools.m.events({});
return JSON.stringify(answer).includes("tick");
