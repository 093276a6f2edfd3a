// An async callback in forEach, two calls one after the other.
// expect {"result": "queued", "effects": ["put \"a\"", "put \"a2\"", "put \"b\"", "put \"b2\""]}
["a", "b"].forEach(async (x) => {
  await tools.m.put({ body: { x } });
  await tools.m.put({ body: { x: x + "2" } });
});
return "queued";
