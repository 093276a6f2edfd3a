// An iterator of values.
// expect {"result": [2, 4]}
return [1, 2].values().map((x) => x * 2);
