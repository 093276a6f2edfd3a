// Promise.allSettled, awaited: the control.
// expect {"result": ["fulfilled", "rejected"], "effects": ["put 1"]}
const results = await Promise.allSettled([tools.m.put({ body: { x: 1 } }), tools.m.gone({})]);
return results.map(({ status }) => status);
