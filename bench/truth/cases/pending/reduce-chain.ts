// A chain built by reduce and not awaited.
// expect {"result": "chained", "effects": ["put 1", "put 2", "put 3"], "ordered": true}
[1, 2, 3].reduce(
  (before, x) => before.then(() => tools.m.put({ body: { x } })),
  Promise.resolve() as Promise<unknown>,
);
return "chained";
