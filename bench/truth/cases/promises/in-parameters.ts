// A promise in the parameters of a call: nothing may be sent.
// expect {"effects": [], "fails": "promise"}
const x = Promise.resolve(5);
await tools.m.put({ body: { x } });
return 1;
