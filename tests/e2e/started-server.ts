/** A server started as a person starts it: `npm start` in the project's folder, from a shell of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";

export const PROJECT = path.resolve(import.meta.dirname, "../..");
const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 60_000;
const POLL_MS = 100;

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever JSON comes
  body: any;
}

export interface StartedServer extends AsyncDisposable {
  origin: string;
  /** Process id of the shell that became npm, which leads the server's process group. */
  pid: number;
  /** Output so far, both streams. */
  log(): string;
  request(method: string, route: string, body?: unknown): Promise<Answer>;
  /**
   * Sends the signal and waits for the end; answers npm's exit code. SIGINT goes to the whole group, as Ctrl-C does;
   * SIGTERM to npm alone, as `kill` and service managers send it.
   */
  stop(signal: "SIGTERM" | "SIGINT"): Promise<number | null>;
}

export async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** The PATH of a person's shell: without what `npm test` puts in front of it. */
function personalPath(): string {
  const entries = (process.env.PATH ?? "").split(":");
  return entries
    .filter((entry) => !entry.includes("node_modules") && !entry.includes("node-gyp-bin"))
    .join(":");
}

export const PERSONAL_ENVIRONMENT = {
  PATH: personalPath(),
  HOME: process.env.HOME ?? "/",
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
};

export interface StartOptions {
  /** The folder of the project. */
  folder?: string;
  /** One shell command. */
  command?: string;
  port?: number;
}

/** Starts on a free port of loopback and waits until it is ready. A data folder of null is the default one. */
export async function startServer(
  dataDirectory: string | null,
  variables: Record<string, string> = {},
  { folder = PROJECT, command = "npm start", port: wanted }: StartOptions = {},
): Promise<StartedServer> {
  const port = wanted ?? (await findFreePort());
  const origin = `http://127.0.0.1:${port}`;
  const environment = {
    ...PERSONAL_ENVIRONMENT,
    PORT: String(port),
    ...(dataDirectory === null ? {} : { CYRNEL_DATA_DIR: dataDirectory }),
    ...variables,
  };
  const child = spawn("bash", ["-c", command], {
    cwd: folder,
    env: environment,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-200_000);
    });
  const closed = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));

  async function request(method: string, route: string, body?: unknown): Promise<Answer> {
    const answer = await fetch(origin + route, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    const text = await answer.text();
    const json = answer.headers.get("content-type")?.includes("json") === true;
    return { status: answer.status, headers: answer.headers, body: json ? JSON.parse(text) : text };
  }

  async function stop(signal: "SIGTERM" | "SIGINT"): Promise<number | null> {
    if (signal === "SIGTERM") child.kill(signal);
    else signalGroup(child, signal);
    const timer = setTimeout(() => signalGroup(child, "SIGKILL"), STOP_TIMEOUT_MS);
    const code = await closed;
    clearTimeout(timer);
    return code;
  }

  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const ready = await request("GET", "/health/ready").catch(() => null);
    if (ready?.status === 200) break;
    if (child.exitCode !== null || Date.now() > deadline) {
      signalGroup(child, "SIGKILL");
      throw new Error(`${command} did not become ready. It printed:\n${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return {
    origin,
    pid: child.pid as number,
    log: () => log,
    request,
    stop,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await stop("SIGINT");
    },
  };
}

/** Like a terminal: Ctrl-C reaches every process of the foreground group. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid as number), signal);
  } catch {
    // ended already
  }
}

export interface RunningProcess {
  pid: number;
  parent: number;
  /** Clock ticks since boot; with the id it names one process for ever. */
  startTime: string;
  command: string;
}

/** All processes of this machine (Linux). */
export function listProcesses(): RunningProcess[] {
  const found: RunningProcess[] = [];
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "latin1");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      // A zombie has ended and only waits to be collected.
      if (fields[0] === "Z") continue;
      const command = readFileSync(`/proc/${entry}/cmdline`, "latin1").replaceAll("\0", " ");
      found.push({ pid: Number(entry), parent: Number(fields[1]), startTime: fields[19] ?? "", command });
    } catch {
      // ended between the listing and the read
    }
  }
  return found;
}

/** Everything below a process, itself included. */
export function listDescendants(pid: number): RunningProcess[] {
  const all = listProcesses();
  const below = new Set([pid]);
  for (let grown = 0; grown !== below.size; ) {
    grown = below.size;
    for (const process of all) if (below.has(process.parent)) below.add(process.pid);
  }
  return all.filter((process) => below.has(process.pid));
}
