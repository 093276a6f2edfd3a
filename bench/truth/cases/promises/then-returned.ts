// A promise that is returned is awaited by the return.
// expect {"result": 12}
return tools.m.row({}).then(({ body }) => body.n);
