// Results are pushed by callbacks that nobody awaits.
// expect {"result": [1, 2], "effects": ["put 1", "put 2"], "oneOf": [[2, 1]]}
const done: number[] = [];
[1, 2].forEach(async (x) => {
  await tools.m.put({ body: { x } });
  done.push(x);
});
return done;
