// The unique values of a list.
// expect {"result": [3, 1]}
return new Set([3, 1, 3]);
