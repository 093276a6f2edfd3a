// A sum, a mean, the most.
// expect {"result": {"sum": 6, "mean": 2, "max": 3}}
const numbers = [1, 2, 3];
const sum = numbers.reduce((total, x) => total + x, 0);
return { sum, mean: sum / numbers.length, max: Math.max(...numbers) };
