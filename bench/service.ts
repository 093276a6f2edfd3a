/** A real server, started as `npm start` starts it, with its own data folder. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
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
  run(code: string, options?: object): Promise<{ ms: number; result: unknown }>;
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as { port: number };
  probe.close();
  return port;
}

/** Resolves when the server of `checkout` is ready. Disposing stops it and removes its data. */
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

  const run: BenchService["run"] = async (code, options) => {
    const before = performance.now();
    const { status, body } = await request("POST", "/processes", { code, options, block: true });
    const { exitState, result } = body as { exitState?: string; result?: unknown };
    if (status !== 201 || exitState !== "success")
      throw new Error(`A run failed: HTTP ${status} ${JSON.stringify(body).slice(0, 500)}`);
    return { ms: performance.now() - before, result };
  };

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
          ? `The server ended with exit code ${child.exitCode} before it was ready.`
          : `The server was not ready within ${START_TIMEOUT_MS} ms.`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    pid: child.pid as number,
    url: `http://127.0.0.1:${port}`,
    request,
    run,
    [Symbol.asyncDispose]: stop,
  };
}
