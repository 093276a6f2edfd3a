// A function is returned instead of being called.
// expect {"fails": "function"}
const build = () => ({ n: 1 });
return build;
