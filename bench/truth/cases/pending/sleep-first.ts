// Un-awaited work sleeps before its first call.
// expect {"result": "ok", "effects": ["put 1"], "loud": "timer"}
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
async function later() {
  await sleep(20);
  await tools.m.put({ body: { x: 1 } });
}
later();
return "ok";
