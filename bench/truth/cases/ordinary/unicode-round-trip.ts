// Text of many languages there and back.
// expect {"result": "日本 ßé 👍"}
const { body } = await tools.m.echo({ body: "日本 ßé 👍" });
return body.got;
