// export default of a value.
// expect {"result": {"a": 1}, "needs": ["completion"]}
export default { a: 1 };
