// A template as the last expression.
// expect {"result": "n is 12", "needs": ["completion"]}
const { body } = await tools.m.row({});
`n is ${body.n}`;
