// Promise.all returned without await.
// expect {"result": [12, 12]}
return Promise.all([1, 2].map(async () => (await tools.m.row({})).body.n));
