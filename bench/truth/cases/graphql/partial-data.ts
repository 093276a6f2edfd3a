// The data of a partial answer is on the error.
// expect {"result": "half", "needs": ["graphql"]}
try {
  await tools.g.half({});
  return "no error";
} catch (error) {
  return JSON.stringify((error as any).data).match(/half/)?.[0];
}
