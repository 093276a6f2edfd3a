// An undefined item in the parameters of a call: nothing may be sent.
// expect {"effects": [], "fails": "undefined"}
const ids = [1, 2].map((id) => ({ 1: "a" })[id]);
await tools.m.put({ body: { x: ids } });
return 1;
