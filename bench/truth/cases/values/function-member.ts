// A function inside the result.
// expect {"fails": "function"}
return { f: () => 1, n: 1 };
