// The entries of a Map.
// expect {"result": [["a", 1]]}
return new Map([["a", 1]]).entries();
