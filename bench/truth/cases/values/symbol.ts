// A symbol inside the result.
// expect {"fails": "symbol"}
return { s: Symbol("q"), n: 1 };
