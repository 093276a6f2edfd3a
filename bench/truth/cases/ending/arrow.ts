// A lone arrow function is called.
// expect {"result": 6, "needs": ["completion"]}
async () => 6;
