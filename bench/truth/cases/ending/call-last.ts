// A tool call as the last expression.
// expect {"result": 12, "needs": ["completion"]}
const row = await tools.m.row({});
row.body.n;
