// A call from queueMicrotask.
// expect {"result": "ok", "effects": ["put \"m\""]}
queueMicrotask(() => {
  tools.m.put({ body: { x: "m" } });
});
return "ok";
