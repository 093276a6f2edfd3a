// JSON there and back.
// expect {"result": {"a": [1, {"b": null}]}, "effects": ["echo {\"a\":[1,{\"b\":null}]}"]}
const { body } = await tools.m.echo({ body: { a: [1, { b: null }] } });
return body.got;
