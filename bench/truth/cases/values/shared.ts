// An object that is shared twice is no cycle.
// expect {"result": {"a": {"x": 1}, "b": {"x": 1}}}
const shared = { x: 1 };
return { a: shared, b: shared };
