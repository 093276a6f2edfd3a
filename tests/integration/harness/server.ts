/** A real server on a database of its own, listening on a free loopback port, and a small client for it. */
import { PassThrough } from "node:stream";
import { type Logger, pino } from "pino";
import { expect } from "vitest";
import type { BuiltinModule } from "#api/components/modules/builtins.ts";
import type { Config } from "#api/config.ts";
import type { Pool } from "#api/db/pool.ts";
import { createLogRing, type LogRing } from "#api/observe/logs/ring.ts";
import { type CyrnelServer, openServer } from "#api/server.ts";
import type { ToolHost } from "#api/tools/contract.ts";
import { countConnections, createTestDatabase, type TestDatabase } from "./database.ts";
import { testConfig } from "./http-app.ts";

export interface StartServerOptions {
  /** Environment variables as a person would set them. */
  environment?: Record<string, string>;
  /** Default: the bundled modules. */
  builtins?: readonly BuiltinModule[];
  tools?: ToolHost;
  /** Whether they are stored, or the folder that they are taken from. Default: none are stored. */
  starterPackages?: boolean | string;
  /** An existing database, for a second server after the first has stopped; it is not dropped then. */
  database?: TestDatabase;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; undefined when it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly server: CyrnelServer;
  readonly config: Config;
  readonly database: TestDatabase;
  readonly pool: Pool;
  /** One HTTP request; `json` is sent as the body. */
  request(
    method: string,
    path: string,
    options?: {
      json?: unknown;
      body?: string | Uint8Array;
      headers?: Record<string, string>;
      signal?: AbortSignal;
    },
  ): Promise<Answer>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, json?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Log lines so far, parsed. */
  logs(): Record<string, unknown>[];
  /** True if the server believes that the database responds; tests may turn it off. */
  setReachable(reachable: boolean): void;
  /** Stops the server, and checks that it left no connection behind. Idempotent. */
  stop(): Promise<void>;
  /** `stop`, and drops the database unless it was given. */
  close(): Promise<void>;
}

/** Starts one; end it with `close()` (or `await using`). */
export async function startServer(options: StartServerOptions = {}): Promise<TestServer> {
  const config = testConfig({ PORT: "0", SHUTDOWN_TIMEOUT_MS: "2000", ...options.environment });
  const database = options.database ?? (await createTestDatabase({ maxConnections: 10 }));
  const { logger, logs, ring } = collectLogs();
  const watch = { reachable: true };
  const server = await openServer(config, {
    database: { pool: database.pool, watch },
    logger,
    logRing: ring,
    ...(options.builtins ? { builtins: options.builtins } : {}),
    ...(options.tools ? { tools: options.tools } : {}),
    // Storing them takes each server a second, and most tests import none.
    ...(options.starterPackages !== true && { starterPackages: options.starterPackages || null }),
  });
  const url = await server.listen();
  const key = config.apiKey;

  const request: TestServer["request"] = async (method, path, { json, body, headers, signal } = {}) => {
    const payload = json === undefined ? body : JSON.stringify(json);
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...headers,
      },
      ...(payload === undefined ? {} : { body: payload as string }),
      ...(signal ? { signal } : {}),
      redirect: "manual",
    });
    const text = await response.text();
    const isJson = text !== "" && /[/+]json\b/.test(response.headers.get("content-type") ?? "");
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : undefined,
    };
  };

  let stopping: Promise<void> | null = null;
  const stop = () => {
    stopping ??= server.stop().then(async () => {
      expect(server.app.server.listening).toBe(false);
      expect(await countConnections(database)).toBe(0);
    });
    return stopping;
  };
  const close = async () => {
    try {
      await stop();
    } finally {
      if (!options.database) await database.drop();
    }
  };
  return {
    url,
    server,
    config,
    database,
    pool: database.pool,
    request,
    get: (path, headers) => request("GET", path, headers ? { headers } : {}),
    post: (path, json, headers) =>
      request("POST", path, { json: json ?? {}, ...(headers ? { headers } : {}) }),
    logs,
    setReachable(value) {
      watch.reachable = value;
    },
    stop,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function collectLogs(): { logger: Logger; logs: () => Record<string, unknown>[]; ring: LogRing } {
  const lines: string[] = [];
  const stream = new PassThrough();
  stream.setEncoding("utf8").on("data", (text: string) => lines.push(...text.split("\n").filter(Boolean)));
  const ring = createLogRing();
  const logger = pino(
    {
      level: "debug",
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // As the server's own logger, but with nothing taken out of a line.
      hooks: {
        streamWrite(line) {
          ring.add(line);
          return line;
        },
      },
    },
    stream,
  );
  return { logger, logs: () => lines.map((line) => JSON.parse(line)), ring };
}
