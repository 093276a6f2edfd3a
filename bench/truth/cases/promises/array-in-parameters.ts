// An array of promises in the parameters of a call.
// expect {"effects": [], "fails": "promise"}
const ids = [1, 2].map(async (id) => id);
await tools.m.put({ body: { x: ids } });
return 1;
