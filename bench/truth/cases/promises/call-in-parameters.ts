// The answer of a call is sent on without await.
// expect {"effects": [], "fails": "promise"}
const row = tools.m.row({});
await tools.m.put({ body: { x: row } });
return 1;
