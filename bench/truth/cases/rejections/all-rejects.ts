// Promise.all rejects with the first failure; the other call is finished.
// expect {"fails": "404|no such row"}
await Promise.all([tools.m.gone({}), tools.m.put({ body: { x: "w" } })]);
return "ok";
