/** The MCP adapter as the host runs it, and the reference server that it is tried on. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { instantiate } from "#modules/mcp/index.ts";
import type { AdapterModule, ServiceDefinition } from "#sdk";

export const EVERYTHING = path.resolve(
  import.meta.dirname,
  "../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

export interface HostedAdapter extends AsyncDisposable {
  readonly adapter: AdapterModule;
  /** Warnings and errors so far. */
  readonly log: { fields: object; message?: string | undefined }[];
  /** Generates a definition and hydrates a service with it. */
  install(
    id: string,
    definition: object,
    settings?: { config?: Record<string, unknown>; secrets?: Record<string, unknown> },
  ): Promise<ServiceDefinition>;
  call(serviceId: string, toolId: string, parameters?: object, signal?: AbortSignal): Promise<unknown>;
}

export interface HostOptions {
  config?: Record<string, unknown>;
  allowStdio?: boolean;
  fetch?: typeof globalThis.fetch;
}

export async function hostMcp(options: HostOptions = {}): Promise<HostedAdapter> {
  const adapter = instantiate();
  const log: HostedAdapter["log"] = [];
  const note = (fields: object, message?: string) => void log.push({ fields, message });
  await adapter.setup({
    config: options.config ?? {},
    secrets: {},
    logger: { debug() {}, info() {}, warn: note, error: note },
    fetch: options.fetch ?? globalThis.fetch,
    ...(options.allowStdio === undefined ? {} : { allowStdio: options.allowStdio }),
  });
  return {
    adapter,
    log,
    async install(id, definition, { config = {}, secrets = {} } = {}) {
      const made = await adapter.generateDefinition(JSON.stringify(definition));
      await adapter.hydrateService({
        id,
        adapterDomain: made.adapterDomain,
        tools: Object.fromEntries(made.tools.map((tool) => [tool.id, { adapterDomain: tool.adapterDomain }])),
        config,
        secrets,
      });
      return made;
    },
    call: (serviceId, toolId, parameters = {}, signal) =>
      adapter.invoke({
        serviceId,
        toolId,
        parameters: parameters as Record<string, unknown>,
        ...(signal ? { signal } : {}),
      }),
    [Symbol.asyncDispose]: () => adapter.teardown(),
  };
}

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
