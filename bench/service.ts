/** A real server for the benchmark, started as `npm start` starts it, on a data directory of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import http from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import packageFile from "../package.json" with { type: "json" };

const START_TIMEOUT_MS = 60_000;
const ROOT = new URL("..", import.meta.url).pathname;
/** Flags of Node and the program, as in package.json. */
const START_ARGUMENTS = packageFile.scripts.start.replace(/^.* exec node /, "").split(" ");

export interface Answer {
  status: number;
  body: unknown;
}

export interface BenchService extends AsyncDisposable {
  pid: number;
  url: string;
  request(method: string, path: string, body?: unknown): Promise<Answer>;
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as { port: number };
  probe.close();
  return port;
}

/** Starts the server of `checkout` and waits until it is ready. Disposing stops it and removes its data. */
export async function startService(
  environment: Record<string, string> = {},
  checkout = ROOT,
): Promise<BenchService> {
  const dataDirectory = await mkdtemp(join(tmpdir(), "cyrnel-bench-"));
  const port = await findFreePort();
  const child = spawn(process.execPath, START_ARGUMENTS, {
    cwd: checkout,
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      PATH: process.env.PATH ?? "",
      PORT: String(port),
      CYRNEL_DATA_DIR: dataDirectory,
      LOG_LEVEL: "warn",
      ...environment,
    },
  });
  const exited = once(child, "exit");
  const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });

  function request(method: string, path: string, body?: unknown): Promise<Answer> {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const headers =
      payload === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(payload) };
    return new Promise((resolve, reject) => {
      const outgoing = http.request({ host: "127.0.0.1", port, method, path, headers, agent }, (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: incoming.statusCode ?? 0, body: text.startsWith("{") ? JSON.parse(text) : text });
        });
      });
      outgoing.on("error", reject);
      outgoing.end(payload);
    });
  }

  const stop = async () => {
    agent.destroy();
    child.kill("SIGTERM");
    await exited;
    await rm(dataDirectory, { recursive: true, force: true });
  };
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const answer = await request("GET", "/health/ready").catch(() => null);
    if (answer?.status === 200) break;
    const hasEnded = child.exitCode !== null;
    if (hasEnded || performance.now() > deadline) {
      await stop();
      throw new Error(
        hasEnded
          ? `the server ended with exit code ${child.exitCode} before it was ready`
          : `the server was not ready within ${START_TIMEOUT_MS} ms`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { pid: child.pid as number, url: `http://127.0.0.1:${port}`, request, [Symbol.asyncDispose]: stop };
}

/** Process ids below a server, also below a spawner, whose command line, or whose name, holds `program`. */
export async function findChildren(
  serverPid: number,
  program: string,
  file: "cmdline" | "comm" = "cmdline",
): Promise<number[]> {
  const parents = new Map<number, { parent: number; command: string }>();
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = await readFile(`/proc/${entry}/stat`, "latin1");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0]);
      parents.set(Number(entry), { parent, command: await readFile(`/proc/${entry}/${file}`, "latin1") });
    } catch {
      // ended between the listing and the read
    }
  }
  function isBelow(pid: number): boolean {
    for (let at = parents.get(pid); at !== undefined; at = parents.get(at.parent)) {
      if (at.parent === serverPid) return true;
    }
    return false;
  }
  return [...parents]
    .filter(([pid, { command }]) => command.includes(program) && isBelow(pid))
    .map(([pid]) => pid);
}

/** Proportional set size in MiB, from /proc/<pid>/smaps_rollup. */
export async function readPssMb(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "latin1");
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1024;
}
