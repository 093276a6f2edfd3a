// An operation without an id.
// expect {"result": "hello", "needs": ["openapi"]}
const { tools: found } = { tools: await cyrnel.discoverTools({ serviceId: "odd", limit: 100 }) };
const path = found.map(({ id }) => id).find((id) => /text/i.test(id)) as string;
return (await (tools.odd as any)[path]({})).body;
