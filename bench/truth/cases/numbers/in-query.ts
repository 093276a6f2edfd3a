// A large integer in a query.
// expect {"result": "9007199254740993"}
const { body } = await tools.m.echoQuery({ query: { id: 9007199254740993n } });
return body.id;
