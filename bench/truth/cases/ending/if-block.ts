// An if at the end.
// expect {"result": null, "needs": ["completion"]}
const n = 3;
if (n > 2) console.log("large");
