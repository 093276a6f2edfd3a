// A Map whose value is a promise.
// expect {"fails": "promise"}
return new Map([["k", Promise.resolve(1)]]);
