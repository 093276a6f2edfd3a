// Large ids can be compared.
// expect {"result": true}
const [a, b] = [await tools.m.row({}), await tools.m.row({})];
return a.body.id === b.body.id;
