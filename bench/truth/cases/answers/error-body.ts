// The body is read from the error.
// expect {"result": "there is no such row", "needs": ["cyrnel"]}
try {
  await tools.m.gone({});
  return "no error";
} catch (error) {
  return (error as any).body.error;
}
