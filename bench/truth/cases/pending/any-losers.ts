// Promise.any gives the first; the others are finished.
// expect {"result": true, "effects": ["put 1", "put 2"]}
const first = await Promise.any([tools.m.put({ body: { x: 1 } }), tools.m.put({ body: { x: 2 } })]);
return first.body.ok;
