// A call is not awaited, and a member of it is read.
// expect {"fails": "promise"}
const rows = tools.m.row({}) as any;
return { first: rows.n, rows };
