/**
 * A secret is planted in a service whose tools give it away in every way they can, and a script prints, emits, returns and
 * throws what it gets. Then every place that could hold it is looked through; beside it, a marker that is no secret shows
 * that looking works.
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { createLogger } from "#api/http/logging.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { type CyrnelServer, openServer } from "#api/server.ts";
import { createTestDatabase, type TestDatabase } from "../integration/harness/database.ts";
import { testConfig } from "../integration/harness/http-app.ts";
import { builtin } from "../integration/modules-server.ts";
import { LeakyAdapter, REFUSED_PREFIX } from "./secrets/leaky-adapter.ts";
import { findInMemory, findInTables, holds, listChildren, needlesOf } from "./secrets/traces.ts";

const isRoot = process.getuid?.() === 0;

/** What is looked for: the part of the secret that no escaping changes. */
const CORE = randomBytes(16).toString("hex");
const SECRET = `s3cr3t/+="${CORE}"&ü-`;
const HEADER_SECRET = `s3cr3t/+=.${CORE}~`;
const REFUSED = `${REFUSED_PREFIX}${CORE}`;
const MARKER = `marker-${randomBytes(16).toString("hex")}`;
const secretNeedles = needlesOf(CORE);
const markerNeedles = needlesOf(MARKER);

/** Does with every answer and error what a script can do with it, then stays alive with all of it in memory. */
const SCRIPT = `
const held = [];
globalThis.held = held;
const calls = {
  echo: () => tools.leaky.echo({}),
  fail: () => tools.leaky.fail({}),
  log: () => tools.leaky.log({}),
  bearer: () => tools.api.withBearer({}),
  basic: () => tools.api.withBasic({}),
  query: () => tools.api.withQuery({}),
};
for (const [tool, call] of Object.entries(calls)) {
  try {
    const answer = await call();
    held.push(answer, JSON.stringify(answer));
    console.log(answer);
    console.error(JSON.stringify(answer));
    cyrnel.output({ [tool]: answer });
  } catch (error) {
    held.push(error);
    console.log(error.name, error.message, error.code, error.stack, error);
    cyrnel.output({ [tool]: { ...error, name: error.name, message: error.message } });
  }
}
cyrnel.output({ ready: true });
while (!globalThis.never) await new Promise((resolve) => setTimeout(resolve, 50));`;

const ENDINGS = {
  returns: "return { answer: await tools.leaky.echo({}) };",
  throws: "await tools.leaky.fail({});",
  "throws an answer": "const answer = await tools.leaky.echo({}); throw new Error(JSON.stringify(answer));",
};

/** A document for the bundled adapter, with a credential in every place that it knows. */
function describeApi(url: string): string {
  const operation = (operationId: string, scheme: string) => ({
    get: { operationId, security: [{ [scheme]: [] }], responses: { 401: { description: "echo" } } },
  });
  return JSON.stringify({
    openapi: "3.1.0",
    info: { title: "Echo", version: "1" },
    servers: [{ url }],
    paths: {
      "/a": operation("withBearer", "bearer"),
      "/b": operation("withBasic", "basic"),
      "/c": operation("withQuery", "query"),
    },
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        basic: { type: "http", scheme: "basic" },
        query: { type: "apiKey", in: "query", name: "key" },
      },
    },
  });
}

let database: TestDatabase;
let server: CyrnelServer;
let url: string;
const logLines: string[] = [];
const answers: string[] = [];
const undo = new AsyncDisposableStack();

beforeAll(async () => {
  const upstream = createServer((request, response) => {
    const seen = JSON.stringify({ headers: request.headers, url: request.url, marker: MARKER });
    response.writeHead(401, {
      "content-type": "application/json",
      "x-echo": Buffer.from(request.headers.authorization ?? "", "latin1").toString("base64"),
      "www-authenticate": "Bearer realm=x",
    });
    response.end(
      JSON.stringify({ seen, token: Buffer.from(SECRET).toString("base64"), raw: SECRET, marker: MARKER }),
    );
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  undo.defer(() => {
    upstream.closeAllConnections();
    upstream.close();
  });
  const upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;

  database = await createTestDatabase();
  undo.defer(() => database.drop());
  const config = testConfig({
    PORT: "0",
    SHUTDOWN_TIMEOUT_MS: "0",
    LOG_LEVEL: "trace",
    CYRNEL_SECRETS_KEY: randomBytes(32).toString("base64"),
    CYRNEL_EGRESS_ALLOW: "127.0.0.1",
  });
  const stream = new PassThrough();
  stream.setEncoding("utf8").on("data", (text: string) => logLines.push(text));
  const redactor = createRedactor();
  server = undo.use(
    await openServer(config, {
      database: { pool: database.pool, watch: { reachable: true } },
      logger: createLogger(config, { stream, redactor }),
      redactor,
      builtins: [...BUILTIN_MODULES, builtin({ id: "leaky", type: "adapter" }, () => new LeakyAdapter())],
    }),
  );
  url = await server.listen();

  expect(
    (await send("POST", "/services", { id: "leaky", adapter: "leaky", content: upstreamUrl })).status,
  ).toBe(201);
  const refused = await setToken("add", REFUSED);
  expect(refused.status).toBe(200);
  const enabling = await send("POST", "/services/leaky/enabled", { enabled: true });
  expect(enabling.status).toBe(502);
  expect(enabling.text).toContain("the upstream refuses [secret]");
  expect((await setToken("replace", 12345678)).status).toBeLessThan(500);
  expect((await setToken("replace", SECRET)).status).toBe(200);
  expect((await send("POST", "/services/leaky/enabled", { enabled: true })).status).toBe(200);

  const document = describeApi(upstreamUrl);
  expect((await send("POST", "/services", { id: "api", adapter: "openapi", content: document })).status).toBe(
    201,
  );
  // A bearer token may hold less than a password.
  const credentials = {
    bearer: HEADER_SECRET,
    basic: { username: "admin", password: SECRET },
    query: SECRET,
  };
  const patch = Object.entries(credentials).map(([name, value]) => ({ op: "add", path: `/${name}`, value }));
  expect((await send("PATCH", "/services/api/secrets", patch)).text).toBe('{"updated":true}');
  expect((await send("POST", "/services/api/enabled", { enabled: true })).status).toBe(200);
});

afterAll(() => undo.disposeAsync());

async function send(method: string, path: string, json?: unknown): Promise<{ status: number; text: string }> {
  const response = await fetch(url + path, {
    method,
    ...(json === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(json) }),
  });
  const text = await response.text();
  answers.push(`${JSON.stringify([...response.headers])}\n${text}`);
  return { status: response.status, text };
}

const setToken = (op: string, value: unknown) =>
  send("PATCH", "/services/leaky/secrets", [{ op, path: "/token", value }]);

/** Resolves when the script has made its calls; it goes on living. */
async function startScript(): Promise<number> {
  const id = Number(JSON.parse((await send("POST", "/processes", { code: SCRIPT })).text).id);
  const readOutput = async () => JSON.parse((await send("GET", `/processes/${id}`)).text).output;
  await expect.poll(readOutput, { timeout: 60_000, interval: 100 }).toHaveProperty("ready");
  return id;
}

async function follow(id: number): Promise<string> {
  const response = await fetch(`${url}/processes/${id}/events`);
  return response.text();
}

test("nothing that a client, the log, the database or the child can see holds the secret", async () => {
  const id = await startScript();
  const events = follow(id);
  const record = JSON.parse((await send("GET", `/processes/${id}`)).text);
  expect(record.output.echo.body).toContain("[secret]");
  expect(record.output.fail.message).toContain("[secret]");
  for (const call of ["echo", "bearer", "basic", "query"]) {
    expect(String(record.output[call].status)).toBe("401");
    expect(JSON.stringify(record.output[call])).toContain("[secret]");
  }

  expect((await send("POST", `/processes/${id}/signals/kill`, {})).status).toBe(200);
  const stream = await events;
  for (const name of ["stdout", "stderr", "output", "call", "end"])
    expect(stream).toContain(`event: ${name}\n`);
  expect(holds(stream, secretNeedles)).toBe(false);
  expect(holds(stream, markerNeedles)).toBe(true);

  for (const code of Object.values(ENDINGS)) {
    const ended = JSON.parse((await send("POST", "/processes", { code, block: true })).text);
    expect(JSON.stringify([ended.result, ended.error])).toContain("[secret]");
    await send("GET", `/processes/${ended.id}/calls`);
    answers.push(await follow(ended.id));
  }
  for (const path of ["", "/stdout", "/stderr", "/output", "/calls"])
    await send("GET", `/processes/${id}${path}`);
  for (const path of [
    "/processes",
    "/services",
    "/services/leaky",
    "/services/leaky/secrets",
    "/services/leaky/config",
    "/modules",
    "/modules/leaky",
    "/tools",
    "/tools/leaky/echo",
    "/tools/types.d.ts",
    "/environment",
    "/logs",
    "/openapi.json",
  ]) {
    await send("GET", path);
  }
  for (const [tool, status] of Object.entries({ echo: 200, log: 200, fail: 502 })) {
    const direct = await send("POST", `/tools/leaky/${tool}/invoke`, { parameters: {} });
    expect(direct).toMatchObject({ status, text: expect.stringContaining("[secret]") });
  }

  expect(answers.filter((answer) => holds(answer, secretNeedles))).toEqual([]);
  expect(holds(answers.join("\n"), markerNeedles)).toBe(true);

  const log = logLines.join("");
  expect(holds(log, secretNeedles)).toBe(false);
  expect(holds(log, markerNeedles)).toBe(true);
  expect(log).toContain("[secret]");

  const secretIn = await findInTables(database.pool, secretNeedles);
  expect(secretIn.columns).toEqual([]);
  expect(secretIn.looked).toBeGreaterThan(30);
  const markerIn = await findInTables(database.pool, markerNeedles);
  expect(markerIn.columns).toEqual(
    expect.arrayContaining([
      "process_results.stdout",
      "process_results.output",
      "process_results.result",
      "process_results.error_detail",
      "tool_calls.result",
      "tool_calls.error",
    ]),
  );
}, 120_000);

test.skipIf(!isRoot)(
  "no memory of a child holds the secret (reading it needs root)",
  { timeout: 120_000 },
  async () => {
    const id = await startScript();
    const children = listChildren().map((pid) => ({
      secret: findInMemory(pid, secretNeedles),
      marker: findInMemory(pid, markerNeedles),
    }));
    await send("POST", `/processes/${id}/signals/kill`, {});
    expect(children.map(({ secret }) => secret.found)).not.toContain(true);
    expect(children.map(({ marker }) => marker.found)).toContain(true);
    for (const { secret } of children) expect(secret.bytes).toBeGreaterThan(10_000_000);
  },
);
