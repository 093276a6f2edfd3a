// map with an async callback, returned as it is.
// expect {"fails": "promise"}
const r = ["a", "b"].map(async (x) => x);
return r;
