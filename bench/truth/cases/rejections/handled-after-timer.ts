// A rejection gets its handler after a timer.
// expect {"result": "caught"}
const p = Promise.reject(new Error("early"));
await new Promise((resolve) => setTimeout(resolve, 20));
try {
  await p;
  return "no";
} catch {
  return "caught";
}
