// Calls in a loop, none awaited.
// expect {"result": "sent", "effects": ["put \"a\"", "put \"b\"", "put \"c\""]}
for (const x of ["a", "b", "c"]) {
  tools.m.put({ body: { x } });
}
return "sent";
