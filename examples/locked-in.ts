// What a script cannot do, tried one by one. Every attempt is answered with an error or with nothing.
// Expected: success; every entry of `result` says how the attempt ended, none says "possible".

const attempts: Record<string, () => unknown> = {
  "reach the network": () => fetch("http://127.0.0.1:9371/health"),
  "read the environment": () => (globalThis as any).process.env.PATH,
  "load a module": () => (globalThis as any).require("node:fs"),
  "make code from text": () => new Function("return 1")(),
  "evaluate text": () => (0, eval)("1 + 1"),
  "climb out through a constructor": () => (console.log as any).constructor("return process")(),
};

const result: Record<string, string> = {};
for (const [name, attempt] of Object.entries(attempts)) {
  try {
    await attempt();
    result[name] = "possible";
  } catch (error) {
    result[name] = `${(error as Error).name}: ${(error as Error).message}`;
  }
}
return result;
