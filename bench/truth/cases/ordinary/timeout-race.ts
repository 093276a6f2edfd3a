// A race against a time-out that the call wins.
// expect {"result": 12}
const timeout = (ms: number) =>
  new Promise<never>((_, reject) => setTimeout(() => reject(new Error("timeout")), ms));
const { body } = await Promise.race([tools.m.row({}), timeout(15_000)]);
return body.n;
