// Large ids in a list.
// expect {"result": "1,9007199254740993"}
const { body } = await tools.m.big({});
return body.ids.map(String).join();
