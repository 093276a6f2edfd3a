// A Set inside an object.
// expect {"result": {"tags": ["a"]}}
return { tags: new Set(["a"]) };
