import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ModuleRecord } from "#api/components/modules/model.ts";
import type { ModuleSetupContext } from "#sdk";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import {
  builtin,
  type ModulesServer,
  type ModulesServerOptions,
  send,
  startModulesServer,
} from "./modules-server.ts";
import { until } from "./processes-server.ts";
import { ScriptedEnvironment } from "./scripted-environment.ts";

let database: TestDatabase;
let servers: ModulesServer[] = [];
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  for (const server of servers) await server.stop();
  servers = [];
  await database.drop();
});

async function start(options: Omit<ModulesServerOptions, "databaseUrl">): Promise<ModulesServer> {
  const server = await startModulesServer({ databaseUrl: database.url, ...options });
  servers.push(server);
  return server;
}

async function read(server: ModulesServer, id: string): Promise<ModuleRecord> {
  return (await send<ModuleRecord>(server, "GET", `/modules/${id}`)).body;
}

/** Records what happens to it; `fail`, `hang` say what goes wrong in which step. */
class Adapter {
  readonly events: string[] = [];
  context: ModuleSetupContext | null = null;
  async setup(context: ModuleSetupContext): Promise<void> {
    this.context = context;
    this.events.push("setup");
  }
  async teardown(): Promise<void> {
    this.events.push("teardown");
  }
  async generateDefinition(): Promise<never> {
    throw new Error("no definition");
  }
  async hydrateService(): Promise<void> {}
  async dehydrateService(): Promise<void> {}
  async invoke(): Promise<unknown> {
    return null;
  }
}

const environmentA = () => builtin({ id: "typescript-process" }, () => new ScriptedEnvironment());
const environmentB = () =>
  builtin({ id: "typescript-ivm", version: "1.2.3" }, () => new ScriptedEnvironment());

describe("start-up", () => {
  test("a new database: adapters and the default environment are enabled and active, other environments are not", async () => {
    const adapter = new Adapter();
    const server = await start({
      builtins: [environmentA(), environmentB(), builtin({ id: "http", type: "adapter" }, () => adapter)],
    });
    const { body } = await send<{ modules: ModuleRecord[] }>(server, "GET", "/modules");
    expect(body.modules.map(({ id, type, enabled, state }) => ({ id, type, enabled, state }))).toEqual([
      { id: "http", type: "adapter", enabled: true, state: "active" },
      { id: "typescript-ivm", type: "environment", enabled: false, state: "inactive" },
      { id: "typescript-process", type: "environment", enabled: true, state: "active" },
    ]);
    expect(adapter.events).toEqual(["setup"]);
    expect(await read(server, "typescript-ivm")).toMatchObject({
      name: "The typescript-ivm",
      description: "Module typescript-ivm",
      version: "1.2.3",
      isBuiltin: true,
      missing: false,
      error: null,
      source: "",
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    await server.stop();
    expect(adapter.events).toEqual(["setup", "teardown"]);
  });

  test("choices, settings and dates survive restarts; a module that vanished is missing, and is itself again when it reappears", async () => {
    const schema = { type: "object", properties: { size: { type: "integer" } }, additionalProperties: false };
    const all = () => [
      environmentA(),
      builtin({ id: "http", type: "adapter", configSchema: schema }, () => new Adapter()),
    ];
    const first = await start({ builtins: all() });
    await send(first, "PATCH", "/modules/http/config", [{ op: "add", path: "/size", value: 3 }]);
    await send(first, "POST", "/modules/http/enabled", { enabled: false });
    const before = await read(first, "http");
    await first.stop();

    const second = await start({ builtins: [environmentA()] });
    expect(await read(second, "http")).toEqual({ ...before, missing: true });
    expect((await send(second, "GET", "/modules/http/config")).body).toEqual({
      config: { size: 3 },
      outdated: [],
    });
    for (const [method, path, body] of [
      ["POST", "/modules/http/enabled", { enabled: true }],
      ["PATCH", "/modules/http/config", [{ op: "remove", path: "/size" }]],
      ["GET", "/modules/http/config/schema", undefined],
    ] as const) {
      expect((await send(second, method, path, body)).body, `${method} ${path}`).toMatchObject({
        code: "module_missing",
      });
    }
    await second.stop();

    const third = await start({ builtins: all() });
    expect(await read(third, "http")).toEqual(before);
    expect((await send(third, "GET", "/modules/http/config")).body).toEqual({
      config: { size: 3 },
      outdated: [],
    });
  });

  test("a missing environment stays chosen: nothing runs until it is back or another is enabled", async () => {
    await (await start({ builtins: [environmentA(), environmentB()] })).stop();
    const server = await start({ builtins: [environmentB()] });
    expect(await read(server, "typescript-process")).toMatchObject({
      enabled: true,
      missing: true,
      state: "inactive",
    });
    expect((await send(server, "POST", "/processes", { code: "print a" })).body).toMatchObject({
      code: "no_environment",
    });
    expect((await send(server, "POST", "/modules/typescript-ivm/enabled", { enabled: true })).status).toBe(
      200,
    );
    expect(await read(server, "typescript-process")).toMatchObject({ enabled: false, missing: true });
    expect((await send(server, "POST", "/processes", { code: "print a", block: true })).body).toMatchObject({
      exitState: "success",
    });
  });

  test("a disabled default environment stays disabled after a restart", async () => {
    const first = await start({ builtins: [environmentA()] });
    await send(first, "POST", "/modules/typescript-process/enabled", { enabled: false });
    await first.stop();
    const second = await start({ builtins: [environmentA()] });
    expect(await read(second, "typescript-process")).toMatchObject({ enabled: false, state: "inactive" });
  });

  test("modules that cannot be imported, described, made or set up get their error; the others start", async () => {
    const server = await start({
      limits: { maxSetupMs: 300 },
      builtins: [
        environmentA(),
        {
          id: "unloadable",
          type: "adapter",
          load: () => Promise.reject(new Error("libfoo.so: cannot open")),
        },
        { id: "empty", type: "adapter", load: async () => ({}) },
        {
          id: "nameless",
          type: "adapter",
          load: async () => ({ manifest: { id: "nameless" }, instantiate: () => ({}) }),
        },
        { id: "impostor", type: "adapter", load: () => environmentB().load() },
        builtin({ id: "half", type: "adapter" }, () => ({ setup: async () => {}, teardown: async () => {} })),
        builtin({ id: "unmade", type: "adapter" }, () => {
          throw new TypeError("made wrong");
        }),
        builtin({ id: "nothing", type: "adapter" }, () => undefined),
        builtin({ id: "broken", type: "adapter" }, () => {
          const adapter = new Adapter();
          adapter.setup = () => Promise.reject(new Error("no license\0 key"));
          return adapter;
        }),
        builtin({ id: "hanging", type: "adapter" }, () => {
          const adapter = new Adapter();
          adapter.setup = () => new Promise(() => {});
          return adapter;
        }),
        builtin({ id: "misschemed", type: "adapter", configSchema: { type: "banana" } }, () => new Adapter()),
        builtin({ id: "fine", type: "adapter" }, () => new Adapter()),
      ],
    });
    const errors = Object.fromEntries(
      (await send<{ modules: ModuleRecord[] }>(server, "GET", "/modules?type=adapter")).body.modules.map(
        (module) => [module.id, `${module.state}: ${module.error}`],
      ),
    );
    expect(errors).toEqual({
      unloadable: "inactive: The module could not be loaded: libfoo.so: cannot open",
      empty: "inactive: The module could not be loaded: It exports no function named instantiate.",
      nameless: expect.stringContaining("Its manifest is wrong at "),
      impostor: expect.stringContaining('environment "typescript-ivm" where adapter "impostor" was expected'),
      half: expect.stringContaining("lacks generateDefinition(), hydrateService()"),
      unmade: "inactive: made wrong",
      nothing: expect.stringContaining("lacks setup()"),
      broken: "inactive: no license  key",
      hanging: "inactive: setup() of hanging did not finish within 300 ms.",
      misschemed: expect.stringContaining("Its configSchema is not a valid JSON Schema"),
      fine: "active: null",
    });
    const answer = await send(server, "POST", "/processes", { code: "print a", block: true });
    expect(answer.body).toMatchObject({ exitState: "success" });
  });

  test("an environment that cannot start leaves a server without one; enabling it again works once it can", async () => {
    let broken = true;
    const server = await start({
      builtins: [
        builtin({ id: "typescript-process" }, () => {
          if (broken) throw new Error("needs Landlock; load the kernel module");
          return new ScriptedEnvironment();
        }),
      ],
    });
    expect(await read(server, "typescript-process")).toMatchObject({
      enabled: true,
      state: "inactive",
      error: "needs Landlock; load the kernel module",
    });
    for (const path of ["/environment", "/environment/docs"]) {
      const answer = await send(server, "GET", path);
      expect([answer.status, answer.body.code]).toEqual([503, "no_environment"]);
    }
    expect((await send(server, "POST", "/processes", { code: "print a" })).status).toBe(503);
    const again = await send(server, "POST", "/modules/typescript-process/enabled", { enabled: true });
    expect([again.status, again.body.code]).toEqual([502, "module_failed"]);
    expect(again.body.error).toContain("needs Landlock; load the kernel module");
    broken = false;
    expect(
      (await send(server, "POST", "/modules/typescript-process/enabled", { enabled: true })).status,
    ).toBe(200);
    expect(await read(server, "typescript-process")).toMatchObject({ state: "active", error: null });
    expect((await send(server, "GET", "/environment")).status).toBe(200);
  });

  test("a setup that finishes too late is undone", async () => {
    const late = Promise.withResolvers<void>();
    const adapter = new Adapter();
    adapter.setup = () => late.promise;
    await start({
      limits: { maxSetupMs: 100 },
      builtins: [environmentA(), builtin({ id: "late", type: "adapter" }, () => adapter)],
    });
    expect(adapter.events).toEqual([]);
    late.resolve();
    await until("it is torn down", () => adapter.events.includes("teardown"));
  });

  test("a stored configuration that no longer fits stops only its module, and is named", async () => {
    const schema = (maximum: number) => ({
      type: "object",
      properties: { size: { type: "integer", maximum } },
    });
    const adapter = (maximum: number) =>
      builtin({ id: "http", type: "adapter", configSchema: schema(maximum) }, () => new Adapter());
    const first = await start({ builtins: [environmentA(), adapter(10)] });
    await send(first, "PATCH", "/modules/http/config", [{ op: "add", path: "/size", value: 9 }]);
    await first.stop();
    const second = await start({ builtins: [environmentA(), adapter(5)] });
    expect((await read(second, "http")).error).toContain("config.size must be <= 5");
    expect((await send(second, "GET", "/modules/http/config")).body).toEqual({
      config: { size: 9 },
      outdated: ["/size"],
    });
    const repaired = await send(second, "PATCH", "/modules/http/config", [
      { op: "replace", path: "/size", value: 4 },
    ]);
    expect(repaired.body).toEqual({ config: { size: 4 }, outdated: [] });
    expect(await read(second, "http")).toMatchObject({ state: "active", error: null });
  });
});

describe("the list", () => {
  test("filters, pages, and refuses what is none", async () => {
    const server = await start({
      builtins: [
        environmentA(),
        environmentB(),
        builtin(
          { id: "open_api", type: "adapter", description: "Makes services of OpenAPI documents" },
          () => new Adapter(),
        ),
        builtin({ id: "graph", type: "adapter", name: "100% GraphQL_" }, () => new Adapter()),
      ],
    });
    const list = async (query: string) => {
      const { body } = await send<{ modules: ModuleRecord[]; nextCursor: string | null }>(
        server,
        "GET",
        `/modules?${query}`,
      );
      return body;
    };
    const ids = async (query: string) => (await list(query)).modules.map((module) => module.id);
    expect(await ids("")).toEqual(["graph", "open_api", "typescript-ivm", "typescript-process"]);
    expect(await ids("type=adapter")).toEqual(["graph", "open_api"]);
    expect(await ids("enabled=false")).toEqual(["typescript-ivm"]);
    expect(await ids("enabled=true&type=environment")).toEqual(["typescript-process"]);
    expect(await ids("missing=true")).toEqual([]);
    expect(await ids("isBuiltin=false")).toEqual([]);
    expect(await ids("query=OPENAPI")).toEqual(["open_api"]);
    expect(await ids("query=%25")).toEqual(["graph"]);
    expect(await ids("query=_")).toEqual(["graph", "open_api"]);
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: Awaited<ReturnType<typeof list>> = await list(
        `limit=3${cursor === "" ? "" : `&cursor=${cursor}`}`,
      );
      seen.push(...page.modules.map((module) => module.id));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(["graph", "open_api", "typescript-ivm", "typescript-process"]);
    for (const [query, code] of [
      ["cursor=nonsense", "invalid_cursor"],
      ["limit=0", "invalid_request"],
      ["limit=201", "invalid_request"],
      ["enabled=yes", "invalid_request"],
      ["type=plugin", "invalid_request"],
      ["colour=red", "invalid_request"],
    ]) {
      const answer = await send(server, "GET", `/modules?${query}`);
      expect([query, answer.status, answer.body.code]).toEqual([query, 400, code]);
    }
  });

  test("unknown and impossible ids, and what cannot be done with a built-in", async () => {
    const server = await start({ builtins: [environmentA()] });
    for (const path of ["/modules/nobody", "/modules/nobody/config", "/modules/nobody/config/schema"]) {
      const answer = await send(server, "GET", path);
      expect([path, answer.status, answer.body.code]).toEqual([path, 404, "not_found"]);
    }
    for (const id of ["1abc", "a%20b", "a.b", "%00", "../x"]) {
      const answer = await send(server, "GET", `/modules/${id}`);
      expect([400, 404], id).toContain(answer.status);
    }
    expect((await send(server, "POST", "/modules/nobody/enabled", { enabled: true })).status).toBe(404);
    expect(
      (await send(server, "PATCH", "/modules/nobody/config", [{ op: "remove", path: "/a" }])).status,
    ).toBe(404);
    expect((await send(server, "DELETE", "/modules/nobody")).status).toBe(404);
    const refused = await send(server, "DELETE", "/modules/typescript-process");
    expect([refused.status, refused.body.code]).toEqual([400, "builtin_module"]);
    for (const body of [{}, { enabled: "true" }, { enabled: true, now: true }, []]) {
      expect((await send(server, "POST", "/modules/typescript-process/enabled", body)).body.code).toBe(
        "invalid_request",
      );
    }
  });
});
