// A continuation sleeps between two calls.
// expect {"result": "ok", "effects": ["put 1", "put 2"], "loud": "timer"}
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
[1].forEach(async () => {
  await tools.m.put({ body: { x: 1 } });
  await sleep(20);
  await tools.m.put({ body: { x: 2 } });
});
return "ok";
