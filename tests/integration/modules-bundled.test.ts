import { afterAll, beforeAll, expect, test } from "vitest";
import type { ModuleRecord } from "#api/components/modules/model.ts";
import type { EnvironmentDescription } from "#api/environment/model.ts";
import type { ProcessRecord } from "#api/processes/model/schemas.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { type ModulesServer, send, startModulesServer } from "./modules-server.ts";
import { until } from "./processes-server.ts";

const ENVIRONMENTS = ["typescript-process", "typescript-ivm"];
let database: TestDatabase;
let server: ModulesServer;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startModulesServer({ databaseUrl: database.url });
});
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

async function use(id: string): Promise<void> {
  const answer = await send(server, "POST", `/modules/${id}/enabled`, { enabled: true });
  expect([answer.status, answer.text]).toEqual([200, JSON.stringify({ id, enabled: true })]);
}

async function run(code: string): Promise<ProcessRecord> {
  return (await send<ProcessRecord>(server, "POST", "/processes", { code, block: true })).body;
}

test("both bundled environments load; only the default is enabled. All bundled adapters are active", async () => {
  const adapters = await send<{ modules: ModuleRecord[] }>(server, "GET", "/modules?type=adapter");
  for (const adapter of adapters.body.modules) {
    expect(adapter).toMatchObject({ isBuiltin: true, enabled: true, state: "active", error: null });
  }
  const { body } = await send<{ modules: ModuleRecord[] }>(server, "GET", "/modules?type=environment");
  const seen = body.modules.map(({ id, type, enabled, state, error }) => ({
    id,
    type,
    enabled,
    state,
    error,
  }));
  expect(seen.reverse()).toEqual([
    { id: "typescript-process", type: "environment", enabled: true, state: "active", error: null },
    { id: "typescript-ivm", type: "environment", enabled: false, state: "inactive", error: null },
  ]);
});

test.each(ENVIRONMENTS)(
  "%s: its description, its documentation, and the documented example as it is",
  async (id) => {
    await use(id);
    const { body } = await send<EnvironmentDescription>(server, "GET", "/environment");
    expect(body.environment.id).toBe(id);
    expect(body.capacity.slots).toBeGreaterThan(0);
    expect(body.isolation?.layers.length).toBeGreaterThan(0);
    const docs = (await send(server, "GET", "/environment/docs")).text;
    expect(docs).toContain(`(\`${id}\`)`);
    const [, example = ""] = /## Example\n\n```ts\n([\s\S]*?)\n```/.exec(docs) ?? [];
    expect(await run(example)).toMatchObject({
      exitState: "success",
      environment: id,
      stdout: "averaged 3 readings\n",
      output: { stations: 2 },
      result: { harbour: 11.75, hill: 7.25 },
    });
  },
);

test.each(ENVIRONMENTS)("%s: everything the documentation names is there", async (id) => {
  await use(id);
  const docs = (await send(server, "GET", "/environment/docs")).text;
  const globals = /## Globals\n([\s\S]*?)\n## /.exec(docs)?.[1] ?? "";
  const names = [...globals.matchAll(/`([A-Za-z][\w.]*)(?:\(\))?`/g)].map((match) => match[1] ?? "");
  const documented = names.filter(
    (name) => !["log", "info", "debug", "warn", "error", "trace", "clear"].includes(name),
  );
  expect(documented.length).toBeGreaterThan(25);
  const code = `return [${documented.map((name) => `["${name}", typeof ${name}]`).join(", ")}].filter(([, kind]) => kind === "undefined")`;
  expect(await run(code)).toMatchObject({ exitState: "success", result: [] });
});

test("a real run in flight survives the switch to the other environment, and its new configuration", async () => {
  await use("typescript-process");
  const started = await send<{ id: number }>(server, "POST", "/processes", {
    code: 'console.log("started"); await new Promise((resolve) => setTimeout(resolve, 3000)); return "finished"',
  });
  const path = `/processes/${started.body.id}`;
  await until(
    "it runs",
    async () => (await send<ProcessRecord>(server, "GET", path)).body.stdout === "started\n",
  );
  await use("typescript-ivm");
  const limits = await send(server, "PATCH", "/modules/typescript-ivm/config", [
    { op: "add", path: "/memoryMb", value: 64 },
  ]);
  expect(limits.status).toBe(200);
  expect(await run("return 1 + 1")).toMatchObject({
    exitState: "success",
    environment: "typescript-ivm",
    result: 2,
  });
  expect((await send<ProcessRecord>(server, "GET", `${path}?wait=20000`)).body).toMatchObject({
    exitState: "success",
    environment: "typescript-process",
    result: "finished",
  });
  await until("the old ones are torn down", async () => {
    return (await send<EnvironmentDescription>(server, "GET", "/environment")).body.draining.length === 0;
  });
  expect(await run("return 2")).toMatchObject({ environment: "typescript-ivm", result: 2 });
});

test("settings outside of the schema of a bundled environment are refused by name", async () => {
  const answer = await send(server, "PATCH", "/modules/typescript-process/config", [
    { op: "add", path: "/memoryMb", value: "much" },
    { op: "add", path: "/turbo", value: true },
  ]);
  expect(answer.body).toMatchObject({ code: "invalid_request" });
  expect(answer.body.issues).toEqual(
    expect.arrayContaining([
      { path: "config.memoryMb", message: "must be integer" },
      { path: "config.turbo", message: "is not a setting of this module" },
    ]),
  );
});
