// A race that the time-out wins: the call is aborted.
// expect {"result": "timeout", "needs": ["cyrnel"]}
const controller = new AbortController();
setTimeout(() => controller.abort(), 50);
try {
  await tools.m.slow({ query: { ms: 20_000 } }, { signal: controller.signal });
  return "answered";
} catch {
  return "timeout";
}
