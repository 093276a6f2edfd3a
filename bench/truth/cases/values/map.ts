// A Map with text keys.
// expect {"result": {"k": [1]}}
return new Map([["k", [1]]]);
