// The value of await main().
// expect {"result": 7, "needs": ["completion"]}
const main = async () => 7;
await main();
