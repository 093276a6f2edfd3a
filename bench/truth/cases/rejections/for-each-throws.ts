// An async callback in forEach throws.
// expect {"fails": "bad item 2"}
[1, 2].forEach(async (x) => {
  await tools.m.row({});
  if (x === 2) throw new Error("bad item 2");
});
return "ok";
