// forEach as the last statement gives nothing.
// expect {"result": null, "needs": ["completion"]}
const seen: number[] = [];
[1, 2].forEach((x) => seen.push(x));
