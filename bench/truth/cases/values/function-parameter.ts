// A function in the parameters of a call: nothing may be sent.
// expect {"effects": [], "fails": "function"}
await tools.m.put({ body: { x: { transform: (y: number) => y } } });
return 1;
