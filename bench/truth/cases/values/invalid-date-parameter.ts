// An invalid date in the parameters of a call: nothing may be sent.
// expect {"effects": [], "fails": "date|Date"}
await tools.m.put({ body: { x: new Date("soon") } });
return 1;
