// A lone async function is called.
// expect {"result": 5, "needs": ["completion"]}
async function main() {
  return 5;
}
