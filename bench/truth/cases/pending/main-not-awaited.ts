// main() is started and not awaited; it makes two calls.
// expect {"effects": ["put \"a\"", "put \"b\""]}
async function main() {
  await tools.m.put({ body: { x: "a" } });
  await tools.m.put({ body: { x: "b" } });
}
main();
