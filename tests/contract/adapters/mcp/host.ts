/** The MCP adapter as the host runs it, and the reference server that it is tried on. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { instantiate } from "#modules/mcp/index.ts";
import { type HostedAdapter, type HostOptions, hostAdapter } from "../host.ts";

export const EVERYTHING = path.resolve(
  import.meta.dirname,
  "../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

export const hostMcp = (options?: HostOptions): Promise<HostedAdapter> => hostAdapter(instantiate(), options);

export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  readonly child: ChildProcess;
}

/** The reference server over HTTP, as a process of its own. `port` to start it again where it was. */
export async function startEverything(kind: "streamableHttp" | "sse", port?: number): Promise<RunningServer> {
  for (let attempt = 1; ; attempt += 1) {
    const chosen = port ?? (await findFreePort());
    const child = spawn(process.execPath, [EVERYTHING, kind], {
      env: { PATH: process.env.PATH ?? "", PORT: String(chosen) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    while (!/listening|running/i.test(stderr) && child.exitCode === null) await sleep(20);
    if (child.exitCode === null) {
      return {
        url: `http://127.0.0.1:${chosen}/${kind === "sse" ? "sse" : "mcp"}`,
        child,
        async [Symbol.asyncDispose]() {
          if (child.exitCode !== null || child.signalCode !== null) return;
          child.kill("SIGKILL");
          await once(child, "exit");
        },
      };
    }
    // Somebody else took the port in between.
    if (attempt === 5) throw new Error(`the reference server does not start: ${stderr}`);
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
