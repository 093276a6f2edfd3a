// A failing call that nobody awaits.
// expect {"effects": ["put \"w\""], "fails": "404|no such row"}
tools.m.gone({});
await tools.m.put({ body: { x: "w" } });
return "ok";
