// A single call without await before the return.
// expect {"result": "done", "effects": ["put \"x\""]}
tools.m.put({ body: { x: "x" } });
return "done";
