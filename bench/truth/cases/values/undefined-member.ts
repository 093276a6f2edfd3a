// An undefined member is left out.
// expect {"result": {"b": 1}}
return { a: undefined, b: 1 };
