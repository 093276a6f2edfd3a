// main() is not awaited, and a statement follows it.
// expect {"effects": ["put \"a\"", "put \"b\""]}
async function main() {
  await tools.m.put({ body: { x: "a" } });
  await tools.m.put({ body: { x: "b" } });
}
main();
console.log("started");
