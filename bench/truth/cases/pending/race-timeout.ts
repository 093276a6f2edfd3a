// A race against a long time-out does not wait for the timer.
// expect {"result": {"ok": true, "x": 1}, "effects": ["put 1"]}
const timeout = new Promise((_, reject) => setTimeout(() => reject(new Error("too slow")), 20_000));
const answer = (await Promise.race([tools.m.put({ body: { x: 1 } }), timeout])) as { body: unknown };
return answer.body;
