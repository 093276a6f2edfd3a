// A call in a timer that nobody waits for.
// expect {"result": 1, "effects": ["put 1"], "loud": "timer"}
setTimeout(() => {
  tools.m.put({ body: { x: 1 } });
}, 30);
return 1;
