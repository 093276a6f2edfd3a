// main() is not awaited, throws, and a value is returned.
// expect {"effects": ["put \"a\""], "fails": "boom"}
async function main() {
  await tools.m.put({ body: { x: "a" } });
  throw new Error("boom");
}
main();
return "ok";
