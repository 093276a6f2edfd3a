// A Map whose keys are numbers.
// expect {"result": [[1, "a"], [2, "b"]]}
return new Map([
  [1, "a"],
  [2, "b"],
]);
