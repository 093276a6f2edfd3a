// A callback API round a call.
// expect {"result": "ok", "effects": ["put \"cb\""]}
function save(x: string, done: (error: Error | null) => void) {
  tools.m.put({ body: { x } }).then(() => done(null), done);
}
save("cb", (error) => {
  if (error) console.error(error.message);
});
return "ok";
