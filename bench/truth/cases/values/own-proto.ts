// A member called __proto__ from parsed JSON.
// expect {"json": "{\"__proto__\":{\"x\":1},\"a\":2}"}
return JSON.parse('{"__proto__":{"x":1},"a":2}');
