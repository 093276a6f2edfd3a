// A Map inside a Map.
// expect {"result": {"a": {"b": 1}}}
return new Map([["a", new Map([["b", 1]])]]);
