// An object of promises.
// expect {"fails": "promise"}
const jobs = { a: tools.m.row({}), b: tools.m.row({}) };
return jobs;
