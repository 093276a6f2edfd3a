// A bigint that a number holds.
// expect {"result": {"n": 42}}
return { n: 42n };
