// Destructuring with defaults.
// expect {"result": [1, "x"]}
const { a, b = "x" } = JSON.parse('{"a":1}') as { a: number; b?: string };
return [a, b];
