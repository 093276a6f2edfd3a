// Calls in order.
// expect {"result": "done", "effects": ["put 1", "put 2", "put 3"], "ordered": true}
for (const x of [1, 2, 3]) await tools.m.put({ body: { x } });
return "done";
