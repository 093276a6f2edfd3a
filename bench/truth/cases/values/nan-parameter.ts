// NaN in the parameters of a call: nothing may be sent.
// expect {"effects": [], "fails": "NaN|number|finite|JSON"}
await tools.m.put({ body: { x: Number("abc") } });
return 1;
