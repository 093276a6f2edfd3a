// An int64 from a service is returned.
// expect {"json": "{\"id\":\"9223372036854775807\",\"n\":12}"}
const { body } = await tools.m.row({});
return body;
