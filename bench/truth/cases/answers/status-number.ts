// The status is compared with a number.
// expect {"result": "fine"}
const r = await tools.m.row({});
return r.status === 200 ? "fine" : "failed";
