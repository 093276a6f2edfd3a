// A call marked with void, as linters propose.
// expect {"result": "ok", "effects": ["put \"v\""]}
void tools.m.put({ body: { x: "v" } });
return "ok";
