// The status is read from the error.
// expect {"result": 404, "needs": ["openapi"]}
try {
  await tools.m.gone({});
  return "no error";
} catch (error) {
  return (error as { status?: number }).status;
}
