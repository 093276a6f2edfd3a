// A counter is raised by callbacks that nobody awaits.
// expect {"result": {"saved": 3}, "effects": ["put 1", "put 2", "put 3"]}
const summary = { saved: 0 };
for (const x of [1, 2, 3]) tools.m.put({ body: { x } }).then(() => summary.saved++);
return summary;
