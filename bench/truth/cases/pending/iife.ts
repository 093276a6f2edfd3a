// An async function expression called at once, with code after it.
// expect {"result": "end", "effects": ["put \"in\""]}
(async () => {
  const { body } = await tools.m.row({});
  await tools.m.put({ body: { x: body.n === 12 ? "in" : "wrong" } });
})();
return "end";
