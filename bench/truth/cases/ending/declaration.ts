// A declaration gives nothing.
// expect {"result": null, "needs": ["completion"]}
const x = 5;
