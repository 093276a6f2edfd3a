// HTTP 500 of a service whose document declares 200 only.
// expect {"fails": "500|database is down"}
const r = await tools.m.fail({});
return { imported: (r.body.items ?? []).length };
