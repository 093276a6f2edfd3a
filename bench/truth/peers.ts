/** npm peers, embedded as their READMEs show, each with the mock API as functions of the host. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Outcome } from "./outcome.ts";
import { createTools } from "./peer-tools.ts";

export type Attempt = Omit<Outcome, "effects">;

export interface TruthRunner extends Partial<AsyncDisposable> {
  /** `code` is JavaScript: the body of an async function. */
  run(code: string, timeoutMs: number): Promise<Attempt>;
}

export interface TruthPeer {
  title: string;
  /** npm packages in exact versions, the main one first; empty for peers that are already installed. */
  packages: string[];
  open(api: string, packages: string): Promise<TruthRunner>;
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
const failed = (error: unknown): Attempt => ({ ok: false, message: messageOf(error) });
const load = (packages: string, entry: string) =>
  import(pathToFileURL(join(packages, "node_modules", entry)).href);

function within(timeoutMs: number, work: Promise<Attempt>): Promise<Attempt> {
  const late = new Promise<Attempt>((resolve) =>
    setTimeout(resolve, timeoutMs, {
      ok: false,
      message: `The embedder ended it after ${timeoutMs} ms.`,
    }).unref(),
  );
  return Promise.race([work.catch(failed), late]);
}

/** Runs a program that prints the script's result. */
function runProgram(command: string, args: string[], program: string, timeoutMs: number): Promise<Attempt> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"], env: { NO_COLOR: "1" } });
    let stdout = "";
    let stderr = "";
    const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout = (stdout + text).slice(-20_000_000);
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr = (stderr + text).slice(-100_000);
    });
    child.stdin.on("error", () => {}).end(program);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      const printed = stdout.split("\u0001").at(-1) ?? "";
      if (signal !== null) resolve({ ok: false, message: `The embedder ended it after ${timeoutMs} ms.` });
      else if (code !== 0) resolve({ ok: false, message: stderr });
      else resolve({ ok: true, printed: stdout.includes("\u0001") ? printed : "" });
    });
  });
}

function programOf(api: string, code: string): string {
  const library = readFileSync(new URL("./peer-tools.ts", import.meta.url), "utf8").replace("export ", "");
  const value = `(async () => {\n${code}\n})()`;
  return `${library}\nconst tools = { m: createTools(${JSON.stringify(api)}) };\nconst value = await ${value};\nconsole.log("\\u0001");\nconsole.log(value);\n`;
}

async function runInIsolate(api: string, code: string, timeoutMs: number): Promise<Attempt> {
  const { default: ivm } = await import("isolated-vm");
  const isolate = new ivm.Isolate({ memoryLimit: 128 });
  const dispose = () => {
    if (!isolate.isDisposed) isolate.dispose();
  };
  const timer = setTimeout(dispose, timeoutMs);
  try {
    const context = await isolate.createContext();
    const functions = createTools(api);
    const call = (name: string, parameters: unknown) => {
      const tool = functions[name];
      if (tool === undefined) throw new TypeError(`There is no tool ${name}.`);
      return tool(parameters);
    };
    await context.global.set("call", new ivm.Reference(call));
    await context.eval(`
      globalThis.console = { log() {}, error() {} };
      globalThis.tools = { m: new Proxy({}, { get: (_, name) => (parameters) =>
        call.apply(undefined, [name, parameters], { arguments: { copy: true }, result: { promise: true, copy: true } }) }) };`);
    const value = await context.eval(`(async () => {\n${code}\n})()`, {
      promise: true,
      copy: true,
      timeout: timeoutMs,
    });
    return { ok: true, value };
  } catch (error) {
    return failed(error);
  } finally {
    clearTimeout(timer);
    dispose();
  }
}

/** A program that gets the script on its standard input. */
const program = (
  title: string,
  packages: string[],
  find: (packages: string) => [string, ...string[]],
): TruthPeer => ({
  title,
  packages,
  open: async (api, folder) => {
    const [command, ...args] = find(folder);
    return { run: (code, timeoutMs) => runProgram(command, args, programOf(api, code), timeoutMs) };
  },
});

type Evaluate = ((code: string, timeoutMs: number) => Promise<Attempt>) & Partial<AsyncDisposable>;

/** An engine with its own time limit, whose host functions are named `tools.put`. */
const engine = (
  title: string,
  packages: string[],
  start: (packages: string, tools: ReturnType<typeof createTools>) => Promise<Evaluate>,
): TruthPeer => ({
  title,
  packages,
  async open(api, folder) {
    const evaluate = await start(folder, createTools(api));
    return {
      run: (code, timeoutMs) =>
        within(timeoutMs + 5000, evaluate(code.replaceAll("tools.m.", "tools."), timeoutMs)),
      [Symbol.asyncDispose]: async () => evaluate[Symbol.asyncDispose]?.(),
    };
  },
});

export const PEERS: TruthPeer[] = [
  program(`\`node\` ${process.versions.node}`, [], () => [
    process.execPath,
    "--input-type=module-typescript",
    "-",
  ]),
  program("`deno run` 2.9.6", ["deno@2.9.6"], (packages) => {
    const platforms = join(packages, "node_modules/@deno");
    const deno = join(platforms, readdirSync(platforms)[0] ?? "", "deno");
    const flags = "--quiet --no-prompt --no-config --no-lock --ext=ts --allow-net=127.0.0.1".split(" ");
    return [deno, "run", ...flags, "-"];
  }),
  {
    title: "raw `isolated-vm` 7.0.1",
    packages: [],
    open: async (api) => ({ run: (code, timeoutMs) => runInIsolate(api, code, timeoutMs) }),
  },
  engine("`secure-exec` 0.2.21", ["secure-exec@0.2.21", "zod@4.6.7"], startSecureExec),
  engine("`run` 2.1.5", ["run@2.1.5"], async (packages, tools) => {
    const { run } = await load(packages, "run/dist/index.js");
    return async (source, timeoutMs) => {
      const answer = await run({ source, hostFunctions: { tools }, limits: { timeoutMs } });
      if (answer.status === "completed") return { ok: true, value: answer.value };
      return { ok: false, message: messageOf(answer.error ?? answer.status) };
    };
  }),
  engine(
    "AI SDK code mode 1.0.42",
    ["@ai-sdk/code-mode@1.0.42", "ai@7.0.85", "zod@4.6.7"],
    async (packages, functions) => {
      const { experimental_runCodeMode: run } = await load(packages, "@ai-sdk/code-mode/dist/index.js");
      const { tool } = await load(packages, "ai/dist/index.js");
      const { z } = await load(packages, "zod/index.js");
      const entries = Object.entries(functions).map(([name, execute]) => [
        name,
        tool({ description: name, inputSchema: z.any(), execute }),
      ]);
      const tools = Object.fromEntries(entries);
      return async (js, timeoutMs) => ({
        ok: true,
        value: await run({ js, tools, executionPolicy: { timeoutMs } }),
      });
    },
  ),
  {
    title: "`quickjs-emscripten` 0.32.0",
    packages: ["quickjs-emscripten@0.32.0"],
    async open(api, packages) {
      const library = await load(packages, "quickjs-emscripten/dist/index.js");
      const quickJs = await library.getQuickJS();
      const { shouldInterruptAfterDeadline: interrupt } = library;
      return { run: (code, timeoutMs) => runInQuickJs(quickJs, interrupt, api, code, timeoutMs) };
    },
  },
];

/** Its schemas have no `any`: scripts of the corpus send JSON of at most four levels. */
async function startSecureExec(packages: string, tools: ReturnType<typeof createTools>): Promise<Evaluate> {
  const { init, shutdown, evaluate } = await load(packages, "secure-exec/dist/index.js");
  const { z } = await load(packages, "zod/index.js");
  const scalar = z.union([z.string(), z.number(), z.boolean(), z.literal(null)]);
  let json = scalar;
  for (let level = 0; level < 4; level += 1) {
    json = z.union([scalar, z.array(json), z.record(z.string(), json)]);
  }
  const inputSchema = z.record(z.string(), json);
  const functions = Object.entries(tools).map(([name, execute]) => [name, { inputSchema, execute }]);
  await init();
  const run: Evaluate = async (code, timeoutMs) => {
    const { outcome, value, error, stderr } = await evaluate(`(async () => {\n${code}\n})()`, {
      timeoutMs,
      hostFunctions: { tools: Object.fromEntries(functions) },
      output: { capture: "all" },
    });
    return outcome === "succeeded"
      ? { ok: true, value }
      : { ok: false, message: `${outcome}: ${error?.message}\n${stderr ?? ""}` };
  };
  return Object.assign(run, { [Symbol.asyncDispose]: () => shutdown() });
}

// biome-ignore lint/suspicious/noExplicitAny: the library is fetched on demand, and has no types here.
type Foreign = any;

/** Follows the library's README: host functions return promises, jobs run as they settle, with a deadline. */
async function runInQuickJs(
  engine: Foreign,
  interruptAfter: Foreign,
  api: string,
  code: string,
  timeoutMs: number,
): Promise<Attempt> {
  const runtime = engine.newRuntime();
  runtime.setMemoryLimit(128 * 1024 * 1024);
  runtime.setInterruptHandler(interruptAfter(Date.now() + timeoutMs));
  const vm = runtime.newContext();
  const functions = createTools(api);
  const toGuest = (value: unknown) => vm.evalCode(`(${JSON.stringify(value) ?? "undefined"})`).value;
  const call = vm.newFunction("call", (name: Foreign, parameters: Foreign) => {
    const promise = vm.newPromise();
    // Responses after the end of the run are dropped.
    const whileAlive = (settle: () => void) => () => runtime.alive && settle();
    const tool = functions[vm.getString(name)];
    if (tool === undefined) throw new TypeError(`There is no tool ${vm.getString(name)}.`);
    void tool(vm.dump(parameters)).then(
      (value) => whileAlive(() => promise.resolve(toGuest(value)))(),
      (error) => whileAlive(() => promise.reject(vm.newError(messageOf(error))))(),
    );
    promise.settled.then(whileAlive(() => runtime.executePendingJobs()));
    return promise.handle;
  });
  vm.setProp(vm.global, "call", call);
  try {
    vm.unwrapResult(
      vm.evalCode(
        "globalThis.console = { log() {}, error() {} }; globalThis.tools = { m: new Proxy({}, { get: (_, name) => (parameters) => call(name, parameters) }) }",
      ),
    ).dispose();
    const handle = vm.unwrapResult(vm.evalCode(`(async () => {\n${code}\n})()`));
    const settled = vm.resolvePromise(handle);
    runtime.executePendingJobs();
    return await within(
      timeoutMs,
      (async () => {
        const result = vm.unwrapResult(await settled);
        return { ok: true, value: vm.dump(result) };
      })(),
    );
  } catch (error) {
    return failed(error);
  } finally {
    try {
      vm.dispose();
      runtime.dispose();
    } catch {
      // The library's assertion fails when something pending is freed.
    }
  }
}
