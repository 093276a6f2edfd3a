// A large integer without a schema: rounded, and said so.
// expect {"oneOf": ["9007199254740993"], "loud": "9007199254740993|safe|rounded|exact|2\\^53|large"}
const { body } = await tools.m.big({});
return String(body.free);
