// A finite event stream.
// expect {"result": 2, "needs": ["openapi"]}
const { body } = await tools.m.finite({});
const text = typeof body === "string" ? body : JSON.stringify(body);
return text.match(/"?n\\?"?:/g)?.length ?? 0;
