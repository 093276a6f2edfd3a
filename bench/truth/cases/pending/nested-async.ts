// An async function that starts another one.
// expect {"result": "ok", "effects": ["put \"outer\"", "put \"inner\""]}
const inner = async () => {
  await tools.m.row({});
  await tools.m.put({ body: { x: "inner" } });
};
const outer = async () => {
  await tools.m.put({ body: { x: "outer" } });
  inner();
};
outer();
return "ok";
