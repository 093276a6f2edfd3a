// An int64 from a service is sent back.
// expect {"result": "9223372036854775807", "effects": ["saveRow 9223372036854775807"]}
const { body: row } = await tools.m.row({});
await tools.m.saveRow({ body: { id: row.id } });
return String(row.id);
