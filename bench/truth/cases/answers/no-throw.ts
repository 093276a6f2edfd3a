// A script that expects 404 asks for the answer.
// expect {"result": [404, "there is no such row"], "needs": ["cyrnel"]}
const r = await tools.m.gone({}, { throwOnError: false });
return [r.status, r.body.error];
