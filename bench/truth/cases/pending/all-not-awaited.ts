// Promise.all is made and not awaited.
// expect {"result": "all three sent", "effects": ["put 1", "put 2", "put 3"]}
Promise.all([1, 2, 3].map((x) => tools.m.put({ body: { x } })));
return "all three sent";
