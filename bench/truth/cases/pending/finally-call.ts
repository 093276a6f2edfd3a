// A call in a finally block, not awaited.
// expect {"result": "closed", "effects": ["put \"open\"", "put \"close\""]}
try {
  await tools.m.put({ body: { x: "open" } });
  return "closed";
} finally {
  tools.m.put({ body: { x: "close" } });
}
