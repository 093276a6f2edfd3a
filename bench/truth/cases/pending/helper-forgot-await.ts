// A helper awaits, its caller does not.
// expect {"result": "saved", "effects": ["put {\"a\":1}"]}
const save = async (value: unknown) => {
  await tools.m.put({ body: { x: value } });
};
save({ a: 1 });
return "saved";
