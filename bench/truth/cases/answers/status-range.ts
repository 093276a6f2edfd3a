// The status is compared with a range.
// expect {"result": true}
const r = await tools.m.openTicket({ body: { title: "t" } });
return r.status >= 200 && r.status < 300;
