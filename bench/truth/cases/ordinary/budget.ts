// A loop stops at a budget.
// expect {"result": {"calls": 2}, "effects": ["put 0", "put 1"], "ordered": true}
let calls = 0;
for (let x = 0; calls < 2; x++) {
  await tools.m.put({ body: { x } });
  calls++;
}
return { calls };
