// A member called __proto__ in an answer.
// expect {"json": "{\"__proto__\":{\"x\":1},\"a\":2}"}
return (await tools.m.proto({})).body;
