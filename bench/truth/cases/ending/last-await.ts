// An awaited last expression.
// expect {"result": 4, "needs": ["completion"]}
await Promise.resolve(4);
