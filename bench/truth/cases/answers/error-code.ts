// The code of an HTTP error.
// expect {"result": "http_error", "needs": ["cyrnel"]}
return await tools.m.fail({}).catch((error) => error.code);
