import { afterEach, beforeEach, expect, test } from "vitest";
import type { EnvironmentDescription } from "#api/environment/model.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { builtin, type ModulesServer, send, startModulesServer } from "./modules-server.ts";
import { until } from "./processes-server.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";

let database: TestDatabase;
let server: ModulesServer;
let environment: ScriptedEnvironment;
const KEY = "environment-test-key-0123456789";

beforeEach(async () => {
  database = await createTestDatabase();
  environment = new ScriptedEnvironment(1);
});
afterEach(async () => {
  await server.stop();
  await database.drop();
});

async function start(variables: Record<string, string> = {}): Promise<void> {
  server = await startModulesServer({
    databaseUrl: database.url,
    builtins: [
      builtin({ id: "typescript-process", name: "TypeScript", version: "3.1.4" }, () => environment),
    ],
    variables,
  });
}

async function describeEnvironment(): Promise<EnvironmentDescription> {
  return (await send<EnvironmentDescription>(server, "GET", "/environment")).body;
}

test("tells which environment is active, what it can take, what waits, and how it isolates", async () => {
  environment.status = () => ({
    slots: 1,
    busy: environment.held,
    warm: 3,
    limits: { memoryMb: 128, maxMemoryMb: 512 },
    isolation: {
      level: "standard",
      layers: [
        { layer: 0, name: "realm", required: true, obtained: true, verified: "self-test" },
        {
          layer: 2,
          name: "birth jail",
          required: false,
          obtained: false,
          verified: "no Landlock",
          fix: "use Linux 5.13",
        },
      ],
      nodeVersion: "v26.10.0",
      platform: "linux",
      kernel: "6.1",
    },
  });
  await start();
  await send(server, "POST", "/processes", { code: "gate go" });
  await until("it runs", () => environment.held === 1);
  await send(server, "POST", "/processes", { code: "print a" });
  await send(server, "POST", "/processes", { code: "print b" });
  expect(await describeEnvironment()).toEqual({
    environment: { id: "typescript-process", name: "TypeScript", version: "3.1.4" },
    capacity: { slots: 1, busy: 1, queued: 2, warm: 3, memoryBytes: null },
    isolation: environment.status().isolation,
    zygote: null,
    draining: [],
  });
  environment.open("go");
  await until("all have run", async () => (await describeEnvironment()).capacity.queued === 0);
});

test("an environment that reports nothing, nonsense or an exception is described by what the host knows", async () => {
  await start();
  const known = {
    environment: { id: "typescript-process", name: "TypeScript", version: "3.1.4" },
    capacity: { slots: null, busy: 0, queued: 0, warm: 0, memoryBytes: null },
    isolation: null,
    zygote: null,
    draining: [],
  };
  for (const status of [
    undefined,
    () => null,
    () => ({ slots: "many" }),
    () => {
      throw new Error("no status today");
    },
  ]) {
    (environment as { status: unknown }).status = status;
    expect(await describeEnvironment()).toEqual(known);
  }
});

test("the documentation is Markdown of the active environment; one that cannot be made says why", async () => {
  await start();
  const docs = await send(server, "GET", "/environment/docs");
  expect([docs.status, docs.text]).toEqual([200, "# Scripted"]);
  expect(docs.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
  environment.generateDocs = () => Promise.reject(new Error("the template is lost"));
  const failed = await send(server, "GET", "/environment/docs");
  expect([failed.status, failed.body.code]).toEqual([502, "module_failed"]);
  expect(failed.body.error).toContain("the template is lost");
  environment.generateDocs = async () => 7 as never;
  expect((await send(server, "GET", "/environment/docs")).status).toBe(502);
});

test("without an active environment both answer 503 with what to do", async () => {
  await start();
  await send(server, "POST", "/modules/typescript-process/enabled", { enabled: false });
  for (const path of ["/environment", "/environment/docs"]) {
    const answer = await send(server, "GET", path);
    expect([answer.status, answer.body.code]).toEqual([503, "no_environment"]);
    expect(answer.body.error).toContain("POST /modules/:id/enabled");
  }
});

test("every route wants a key", async () => {
  await start({ CYRNEL_API_KEY: KEY });
  for (const [method, path] of [
    ["GET", "/environment"],
    ["GET", "/environment/docs"],
    ["GET", "/modules"],
    ["GET", "/modules/typescript-process"],
    ["DELETE", "/modules/typescript-process"],
    ["POST", "/modules/typescript-process/enabled"],
    ["GET", "/modules/typescript-process/config"],
    ["PATCH", "/modules/typescript-process/config"],
    ["GET", "/modules/typescript-process/config/schema"],
  ] as const) {
    const answer = await send(server, method, path);
    expect([path, answer.status, answer.body.code]).toEqual([path, 401, "unauthorized"]);
  }
  const answer = await send(server, "GET", "/environment", undefined, { authorization: `Bearer ${KEY}` });
  expect(answer.status).toBe(200);
});

test("the OpenAPI document describes each route with its errors", async () => {
  await start();
  const { body } = await send<{
    paths: Record<string, Record<string, { responses: object; security?: unknown; "x-scope"?: string }>>;
  }>(server, "GET", "/openapi.json");
  expect(Object.keys(body.paths["/modules/{id}/config"] ?? {})).toEqual(["get", "patch"]);
  expect(body.paths["/modules/{id}/config"]?.patch?.["x-scope"]).toBe("modules:admin");
  expect(Object.keys(body.paths["/modules/{id}/config"]?.patch?.responses ?? {})).toEqual(
    expect.arrayContaining(["200", "400", "404", "409", "412", "502"]),
  );
  expect(body.paths["/modules"]?.get?.security).toEqual([{ key: [] }]);
  expect(Object.keys(body.paths["/environment"]?.get?.responses ?? {})).toEqual(
    expect.arrayContaining(["200", "503"]),
  );
});
