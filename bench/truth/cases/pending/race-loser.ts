// The loser of a race is finished too.
// expect {"result": "fast", "effects": ["put \"slow\""]}
const slow = tools.m.put({ body: { x: "slow" } }).then(() => "slow");
return await Promise.race([slow, Promise.resolve("fast")]);
