// main() is not awaited and throws after a call.
// expect {"effects": ["put \"a\""], "fails": "boom"}
async function main() {
  await tools.m.put({ body: { x: "a" } });
  throw new Error("boom");
}
main();
