// An int64 that a number holds stays a number.
// expect {"result": ["number", 12]}
const { body } = await tools.m.row({});
return [typeof body.n, body.n];
