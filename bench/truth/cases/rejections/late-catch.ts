// A rejection that is awaited and caught late.
// expect {"result": "caught", "effects": ["put \"w\"", "put \"w2\""]}
const p = tools.m.gone({});
await tools.m.put({ body: { x: "w" } });
await tools.m.put({ body: { x: "w2" } });
let r: string;
try {
  await p;
  r = "no";
} catch (e) {
  r = "caught";
}
return r;
