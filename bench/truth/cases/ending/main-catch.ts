// main().catch(console.error), as in programs of Node.
// expect {"result": {"rows": 2}, "needs": ["completion"]}
async function main() {
  const { body } = await tools.m.items({});
  return { rows: body.items.length };
}
main().catch(console.error);
