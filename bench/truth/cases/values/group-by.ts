// Map.groupBy.
// expect {"result": {"odd": [1, 3], "even": [2]}}
return Map.groupBy([1, 2, 3], (x) => (x % 2 ? "odd" : "even"));
