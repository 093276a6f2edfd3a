// A promise of a promise is one promise.
// expect {"result": 3}
return Promise.resolve(Promise.resolve(3));
