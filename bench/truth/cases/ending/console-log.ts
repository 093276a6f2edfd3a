// console.log as the last statement gives nothing.
// expect {"result": null, "needs": ["completion"]}
console.log("done");
