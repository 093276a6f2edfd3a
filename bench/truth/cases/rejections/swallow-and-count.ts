// Failures are counted by the script.
// expect {"result": {"ok": 1, "failed": 2}, "effects": ["put 1"]}
const tally = { ok: 0, failed: 0 };
for (const call of [tools.m.put({ body: { x: 1 } }), tools.m.gone({}), tools.m.fail({})]) {
  try {
    await call;
    tally.ok++;
  } catch {
    tally.failed++;
  }
}
return tally;
