// A call that is aborted on purpose is not waited for.
// expect {"result": "given up", "needs": ["cyrnel"]}
const controller = new AbortController();
const slow = tools.m.slow({ query: { ms: 20_000 } }, { signal: controller.signal }).catch(() => "aborted");
controller.abort();
await slow;
return "given up";
