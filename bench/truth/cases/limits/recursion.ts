// Endless recursion.
// expect {"fails": "stack|recurs"}
const f = (n: number): number => f(n + 1) + 1;
return f(0);
