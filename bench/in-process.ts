/** A server inside the benchmark's process, called over HTTP, with its own database and data folder. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { parseConfig } from "#api/config.ts";
import { openDatabase } from "#api/db/database.ts";
import { openServer } from "#api/server.ts";

/** Resolves with the body of a response below 300; rejects for any other. */
// biome-ignore lint/suspicious/noExplicitAny: responses have any shape
export type Send = (method: "GET" | "POST" | "PATCH", route: string, body?: object) => Promise<any>;

export interface InProcessServer extends AsyncDisposable {
  readonly send: Send;
}

export async function openInProcess(environment: Record<string, string> = {}): Promise<InProcessServer> {
  await using undo = new AsyncDisposableStack();
  const directory = await mkdtemp(path.join(tmpdir(), "cyrnel-bench-"));
  undo.defer(() => rm(directory, { recursive: true, force: true }));
  const parsed = parseConfig({
    CYRNEL_DATA_DIR: directory,
    CYRNEL_SECRETS_KEY: randomBytes(32).toString("base64"),
    PORT: "0",
    LOG_LEVEL: "silent",
    ...environment,
  });
  if (!parsed.ok) throw new Error(parsed.problems.join("\n"));
  const database = undo.use(await openDatabase(parsed.config, { onTakenOver: () => {} }));
  const logger = pino({ level: "silent" });
  const server = undo.use(await openServer(parsed.config, { database, logger }));
  const { port } = new URL(await server.listen());
  const agent = new http.Agent({ keepAlive: true });
  undo.defer(() => agent.destroy());
  const send: Send = (method, route, body) =>
    new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { "content-type": "application/json" };
      const request = http.request({ port, method, path: route, headers, agent }, async (answer) => {
        let text = "";
        for await (const piece of answer.setEncoding("utf8")) text += piece;
        if ((answer.statusCode ?? 500) < 300) resolve(text === "" ? null : JSON.parse(text));
        else reject(new Error(`${method} ${route}: ${answer.statusCode} ${text}`));
      });
      request.on("error", reject).end(body && JSON.stringify(body));
    });
  const opened = undo.move();
  return { send, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

export async function installService(
  send: Send,
  id: string,
  adapter: string,
  content: object,
): Promise<void> {
  await send("POST", "/services", { id, adapter, content: JSON.stringify(content) });
  await send("POST", `/services/${id}/enabled`, { enabled: true });
}

/** Resolves with the script's result; rejects unless the run succeeded. */
export async function runScript(send: Send, code: string): Promise<unknown> {
  const record = await send("POST", "/processes", { code, block: true });
  if (record.exitState !== "success") throw new Error(`the script ended ${record.reason}: ${record.error}`);
  return record.result;
}
