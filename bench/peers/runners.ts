/** The peers, each embedded as its documentation shows, with the limits that it offers. */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { startService } from "../service.ts";

export interface Limits {
  timeoutMs: number;
  memoryMb: number;
}

export interface Runner {
  /** Runs the body of an async function. Resolves with its result; rejects if it failed or was ended. */
  run(body: string, limits: Limits): Promise<unknown>;
  close?(): Promise<void>;
}

export interface Settings {
  /** Folder above `node_modules` of the peer's package. */
  packages: string;
  /** A folder that scripts must not read. */
  hidden: string;
  secret: string;
  path: string;
}

export interface Peer {
  name: string;
  title: string;
  fetched?: string;
  flags?: readonly string[];
  setUp: string;
  notMadeFor: string;
  open(settings: Settings): Promise<Runner>;
}

const MARK = "\u0001result ";
const MAX_OUTPUT_BYTES = 1024 * 1024;

/**
 * Runs the body in its own process, as standard input. Kills the process group at the time limit or after too much
 * output.
 */
function runProgram(
  command: string,
  args: readonly string[],
  env: Record<string, string>,
  body: string,
  { timeoutMs }: Limits,
  shell = false,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ["pipe", "pipe", "ignore"], detached: true, shell });
    let output = "";
    let reason = "It printed no result.";
    function end(because: string) {
      reason = because;
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // The process has ended.
      }
    }
    const timer = setTimeout(() => end("time limit"), timeoutMs);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.length > MAX_OUTPUT_BYTES) end("too much output");
    });
    child.stdin.on("error", () => {});
    child.stdin.end(
      `(async () => {\n${body}\n})().then((value) => console.log(${JSON.stringify(`\n${MARK}`)} + JSON.stringify(value ?? null)));`,
    );
    child.once("error", reject);
    child.once("close", () => {
      clearTimeout(timer);
      const at = output.lastIndexOf(MARK);
      if (at < 0) return reject(new Error(reason));
      try {
        resolve(JSON.parse(output.slice(at + MARK.length)));
      } catch (error) {
        reject(error);
      }
    });
  });
}

const IN_WORKER = `
  const vm = require("node:vm");
  const { parentPort, workerData } = require("node:worker_threads");
  const context = vm.createContext({ console }, { codeGeneration: { strings: false, wasm: false } });
  vm.runInContext("(async () => {\\n" + workerData + "\\n})().then((value) => JSON.stringify(value ?? null))", context)
    .then((text) => parentPort.postMessage(text));`;

async function runInWorker(body: string, { timeoutMs, memoryMb }: Limits): Promise<unknown> {
  const worker = new Worker(IN_WORKER, {
    eval: true,
    env: {},
    stdout: true,
    stderr: true,
    workerData: body,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  worker.stdout.resume();
  worker.stderr.resume();
  const timer = setTimeout(() => worker.terminate(), timeoutMs);
  try {
    return await new Promise((resolve, reject) => {
      worker.once("message", (text) => resolve(JSON.parse(String(text))));
      worker.once("error", reject);
      worker.once("exit", () => reject(new Error("The worker ended without a result.")));
    });
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

async function openIsolates(): Promise<Runner> {
  // Needs a flag of Node that only this peer's host has.
  const { default: ivm } = await import("isolated-vm");
  return {
    async run(body, { timeoutMs, memoryMb }) {
      const isolate = new ivm.Isolate({ memoryLimit: memoryMb });
      const dispose = () => {
        if (!isolate.isDisposed) isolate.dispose();
      };
      // `timeout` bounds synchronous code only; a script that awaits is ended with its isolate.
      const timer = setTimeout(dispose, timeoutMs + 50);
      try {
        const context = await isolate.createContext();
        await context.global.set("print", new ivm.Callback(() => undefined));
        const script = await isolate.compileScript(
          `globalThis.console = { log: (...values) => print(values.map(String).join(" ")) };
          (async () => {\n${body}\n})().then((value) => JSON.stringify(value ?? null))`,
        );
        return JSON.parse(
          String(await script.run(context, { promise: true, copy: true, timeout: timeoutMs })),
        );
      } finally {
        clearTimeout(timer);
        dispose();
      }
    },
  };
}

const load = (packages: string, entry: string) =>
  import(pathToFileURL(join(packages, "node_modules", entry)).href);

async function openSecureExec({ packages }: Settings): Promise<Runner> {
  const { init, shutdown, evaluate } = await load(packages, "secure-exec/dist/index.js");
  await init();
  return {
    async run(body, { timeoutMs, memoryMb }) {
      const limits = { jsRuntime: { v8HeapLimitMb: memoryMb } };
      const answer = await evaluate(`(async () => {\n${body}\n})()`, { timeoutMs, limits });
      if (answer.outcome !== "succeeded") throw new Error(`${answer.outcome}: ${answer.error?.message}`);
      return answer.value;
    },
    close: shutdown,
  };
}

async function openSandboxRuntime({ packages, hidden, path }: Settings): Promise<Runner> {
  const { SandboxManager } = await load(packages, "@anthropic-ai/sandbox-runtime/dist/index.js");
  const { errors } = SandboxManager.checkDependencies();
  if (errors.length > 0) throw new Error(errors.join("; "));
  await SandboxManager.initialize({
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: [homedir(), hidden], allowRead: [], allowWrite: [], denyWrite: [] },
  });
  return {
    async run(body, limits) {
      const node = `${JSON.stringify(process.execPath)} --max-old-space-size=${limits.memoryMb} -`;
      const command = await SandboxManager.wrapWithSandbox(node);
      return runProgram(command, [], { TZ: "UTC", PATH: path }, body, limits, true);
    },
    close: () => SandboxManager.reset(),
  };
}

async function openDeno({ packages }: Settings): Promise<Runner> {
  const platforms = join(packages, "node_modules/@deno");
  const program = join(platforms, readdirSync(platforms)[0] ?? "", "deno");
  const env = { TZ: "UTC", DENO_DIR: join(packages, "deno-dir"), DENO_NO_UPDATE_CHECK: "1" };
  const flags = "run --quiet --no-prompt --no-config --no-lock --no-remote --no-npm".split(" ");
  return {
    run: (body, limits) => {
      const memory = `--v8-flags=--max-old-space-size=${limits.memoryMb}`;
      return runProgram(program, [...flags, memory, "-"], env, body, limits);
    },
  };
}

async function openCyrnel({ secret }: Settings, environment: string): Promise<Runner> {
  const service = await startService({ SECRET: secret });
  const { status } = await service.request("POST", `/modules/${environment}/enabled`, { enabled: true });
  if (status >= 300) throw new Error(`${environment} could not be enabled: HTTP ${status}.`);
  return {
    run: async (code, { timeoutMs, memoryMb }) =>
      (await service.run(code, { timeout: timeoutMs, memoryMb })).result,
    close: async () => service[Symbol.asyncDispose](),
  };
}

export const PEERS: readonly Peer[] = [
  {
    name: "bare-node",
    title: "bare `node` per run",
    setUp: "a process per run, empty environment, heap limit, time limit, at most 1 MiB of output",
    notMadeFor: "it is not a sandbox: a script can do what the user who started it can do",
    open: async () => ({
      run: (body, limits) =>
        runProgram(
          process.execPath,
          [`--max-old-space-size=${limits.memoryMb}`, "-"],
          { TZ: "UTC" },
          body,
          limits,
        ),
    }),
  },
  {
    name: "node-vm-worker",
    title: "`node:vm` in a worker",
    setUp:
      "a worker and a context per run, empty environment, resource limits, no code from strings, ended by a timer",
    notMadeFor: "its documentation says it is not a security mechanism",
    open: async () => ({ run: runInWorker }),
  },
  {
    name: "isolated-vm",
    title: "raw `isolated-vm` 7.0.1",
    flags: ["--no-node-snapshot"],
    setUp:
      "an isolate per run, its memory and time limits, a timer that disposes of it, one function for output",
    notMadeFor: "no Node, no TypeScript, no timers; its documentation asks for a process around it",
    open: openIsolates,
  },
  {
    name: "secure-exec",
    title: "`secure-exec` 0.2.21",
    fetched: "secure-exec@0.2.21",
    setUp:
      "`init()` once, then `evaluate`: a fresh virtual machine per run, default permissions, heap and time limits",
    notMadeFor: "short runs: each gets a virtual file system and its own Node; it can keep one for many runs",
    open: openSecureExec,
  },
  {
    name: "sandbox-runtime",
    title: "`sandbox-runtime` 0.0.83 around `node`",
    fetched: "@anthropic-ai/sandbox-runtime@0.0.83",
    setUp:
      "no host allowed, nothing to write, home and the host's folder not to read; Node with a heap limit, ended by a timer; needs bubblewrap, socat and ripgrep",
    notMadeFor: "limits of memory and processor time, and many short runs: it wraps an agent's commands",
    open: openSandboxRuntime,
  },
  {
    name: "deno",
    title: "`deno run` 2.9.6",
    fetched: "deno@2.9.6",
    setUp: "a process per run, no permission, no prompt, heap limit, ended by a timer",
    notMadeFor: "limits: its permissions are about what a program reaches, not what it uses",
    open: openDeno,
  },
  {
    name: "cyrnel-process",
    title: "Cyrnel over HTTP, `typescript-process`",
    setUp: "as `npm start` starts it; each run is an HTTP request, stored in Postgres",
    notMadeFor: "scripts that open files or sockets of the host",
    open: (settings) => openCyrnel(settings, "typescript-process"),
  },
  {
    name: "cyrnel-ivm",
    title: "Cyrnel over HTTP, `typescript-ivm`",
    setUp: "the same server, the environment enabled",
    notMadeFor: "the same; its runs share a process, one after the other",
    open: (settings) => openCyrnel(settings, "typescript-ivm"),
  },
];
