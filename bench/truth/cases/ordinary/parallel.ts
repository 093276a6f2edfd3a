// Calls side by side.
// expect {"result": [1, 2, 3], "effects": ["put 1", "put 2", "put 3"]}
const answers = await Promise.all([1, 2, 3].map((x) => tools.m.put({ body: { x } })));
return answers.map(({ body }) => body.x);
