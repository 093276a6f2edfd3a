// A large id in a log line.
// expect {"result": "id 9223372036854775807"}
const { body } = await tools.m.row({});
return `id ${body.id}`;
