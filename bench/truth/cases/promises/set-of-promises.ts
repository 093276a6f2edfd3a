// A Set of promises.
// expect {"fails": "promise"}
return new Set([Promise.resolve(1)]);
