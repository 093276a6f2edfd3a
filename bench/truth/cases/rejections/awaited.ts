// A failing call, awaited and not caught: is the cause named?
// expect {"fails": "404|no such row"}
await tools.m.gone({});
return "ok";
