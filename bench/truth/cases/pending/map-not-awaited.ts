// map with an async callback, its promises dropped.
// expect {"result": 2, "effects": ["put 1", "put 2"]}
[1, 2].map(async (x) => {
  await tools.m.put({ body: { x } });
});
return 2;
