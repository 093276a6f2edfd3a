/** The real server as its own process, the way `npm start` runs it. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { inject } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const START_TIMEOUT_MS = 60_000;

export interface MainProcess {
  readonly child: ChildProcess;
  /** Output so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves with the address once the server reports it; rejects if the server ends first. */
  listening(): Promise<string>;
  /** Exit code, or the signal that ended it. */
  ended(): Promise<number | NodeJS.Signals>;
}

export interface MainOptions {
  environment?: Record<string, string>;
  cwd?: string;
  /** Flags of Node, before the program. */
  nodeFlags?: string[];
  /** As `ulimit -n` sets it. */
  maxDescriptors?: number;
  /** Its user and group, where the tests are root's. */
  uid?: number;
  /** Descriptor that it writes to instead; `stdout()` is empty then. */
  stdout?: number;
  /** Both of its streams are a terminal, whose text is `stdout()`. A byte 3 on standard input is Ctrl-C. */
  isTerminal?: boolean;
}

/** Starts it with nothing of this process' environment but PATH and the folder of compiled code. */
export function startMain(options: MainOptions = {}): MainProcess {
  const command = [
    process.execPath,
    "--enable-source-maps",
    "--disable-sigusr1",
    ...(options.nodeFlags ?? []),
    path.join(ROOT, "dist/server/main.js"),
  ];
  if (options.maxDescriptors !== undefined) {
    command.unshift("sh", "-c", `ulimit -n ${options.maxDescriptors} && exec "$0" "$@"`);
  }
  if (options.isTerminal) {
    const quoted = command.map((word) => `'${word}'`).join(" ");
    command.splice(0, Infinity, "script", "--quiet", "--return", "--command", `exec ${quoted}`, "/dev/null");
  }
  const child = spawn(command[0] as string, command.slice(1), {
    cwd: options.cwd ?? ROOT,
    env: {
      PATH: process.env.PATH ?? "",
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
      PORT: "0",
      ...options.environment,
    },
    ...(options.uid !== undefined && { uid: options.uid, gid: options.uid }),
    stdio: [options.isTerminal ? "pipe" : "ignore", options.stdout ?? "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const end = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? (signal as NodeJS.Signals)));
  });
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended: () => end,
    async listening() {
      const deadline = Date.now() + START_TIMEOUT_MS;
      while (Date.now() < deadline) {
        const url = /listening on (\S+)/.exec(options.isTerminal ? stdout : stderr)?.[1];
        if (url) return url;
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`ended early:\n${stderr}`);
        await sleep(20);
      }
      throw new Error(`not listening after ${START_TIMEOUT_MS} ms:\n${stderr}`);
    },
  };
}

export interface DataDirectory extends AsyncDisposable {
  readonly path: string;
  /** Process id of the embedded Postgres that runs on it; null when none does. */
  postgresPid(): Promise<number | null>;
}

/**
 * A data directory as a server leaves it that has been started and stopped, or an empty one, for what a first start
 * does. Removed at the end, with whatever Postgres is left in it.
 */
export async function makeDataDirectory(options: { empty?: boolean } = {}): Promise<DataDirectory> {
  const used = inject("usedPostgres");
  const directory = await mkdtemp(path.join(path.dirname(used), "data-"));
  if (!options.empty) await promisify(execFile)("cp", ["-a", used, path.join(directory, "postgres")]);
  const postgresPid = async () => {
    const file = path.join(directory, "postgres", "data", "postmaster.pid");
    const pid = Number((await readFile(file, "utf8").catch(() => "")).split("\n")[0]);
    return pid > 1 ? pid : null;
  };
  return {
    path: directory,
    postgresPid,
    async [Symbol.asyncDispose]() {
      const pid = await postgresPid();
      if (pid !== null) process.kill(pid, "SIGQUIT");
      while ((await postgresPid()) !== null) await sleep(20);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
