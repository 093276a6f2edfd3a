// The value of main().
// expect {"result": {"answer": 42}, "needs": ["completion"]}
async function main() {
  const x = 40;
  return { answer: x + 2 };
}

main();
