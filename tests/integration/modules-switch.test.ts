import { afterEach, beforeEach, expect, test } from "vitest";
import type { ModuleRecord } from "#api/components/modules/model.ts";
import type { EnvironmentDescription } from "#api/environment/model.ts";
import type { ProcessRecord } from "#api/processes/model/schemas.ts";
import type { EnvironmentSetupContext } from "#sdk";
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

/** A scripted environment whose setup and teardown a test can make slow or wrong. */
class DrivenEnvironment extends ScriptedEnvironment {
  toldDown = 0;
  beforeSetup: () => Promise<void> = async () => {};
  beforeTeardown: () => Promise<void> = async () => {};
  config: Record<string, unknown> | null = null;
  override async setup(context: EnvironmentSetupContext): Promise<void> {
    await this.beforeSetup();
    this.config = context.config;
    await super.setup(context);
  }
  override async teardown(): Promise<void> {
    this.toldDown += 1;
    await this.beforeTeardown();
  }
}

const CONFIG_SCHEMA = {
  type: "object",
  properties: { size: { type: "integer", minimum: 1, default: 7 } },
  additionalProperties: false,
};

/** One kind of environment; every instance the server makes of it, oldest first. */
class Kind {
  readonly made: DrivenEnvironment[] = [];
  readonly id: string;
  prepare: (environment: DrivenEnvironment) => void = () => {};
  constructor(id: string) {
    this.id = id;
  }
  get builtin() {
    return builtin({ id: this.id, configSchema: CONFIG_SCHEMA }, () => {
      const environment = new DrivenEnvironment();
      this.prepare(environment);
      this.made.push(environment);
      return environment;
    });
  }
  get last(): DrivenEnvironment {
    const environment = this.made.at(-1);
    if (!environment) throw new Error(`no ${this.id} was made`);
    return environment;
  }
}

const OLD = "typescript-process";
const NEW = "typescript-ivm";
let database: TestDatabase;
let server: ModulesServer;
let old: Kind;
let fresh: Kind;

beforeEach(async () => {
  database = await createTestDatabase();
  old = new Kind(OLD);
  fresh = new Kind(NEW);
});
afterEach(async () => {
  await server.stop();
  await database.drop();
});

async function start(options: Partial<ModulesServerOptions> = {}): Promise<void> {
  server = await startModulesServer({
    databaseUrl: database.url,
    builtins: [old.builtin, fresh.builtin],
    limits: { maxSetupMs: 400, maxTeardownMs: 400 },
    ...options,
  });
}

function enable(id: string, enabled = true) {
  return send(server, "POST", `/modules/${id}/enabled`, { enabled });
}

async function states(): Promise<Record<string, string>> {
  const { body } = await send<{ modules: ModuleRecord[] }>(server, "GET", "/modules?type=environment");
  return Object.fromEntries(body.modules.map((module) => [module.id, `${module.enabled} ${module.state}`]));
}

async function submit(code: string): Promise<number> {
  const answer = await send<{ id: number }>(server, "POST", "/processes", { code });
  expect(answer.status).toBe(201);
  return answer.body.id;
}

async function read(id: number, query = ""): Promise<ProcessRecord> {
  return (await send<ProcessRecord>(server, "GET", `/processes/${id}${query}`)).body;
}

test("a run in flight finishes on the old environment, new runs go to the new one, then the old one is torn down", async () => {
  await start();
  const inFlight = await submit("gate later\nprint finished on the old one");
  await until("it runs", () => old.last.held === 1);
  expect((await enable(NEW)).body).toEqual({ id: NEW, enabled: true });
  expect(await states()).toEqual({ [OLD]: "false draining", [NEW]: "true active" });
  const { body } = await send<EnvironmentDescription>(server, "GET", "/environment");
  expect(body).toMatchObject({ environment: { id: NEW }, draining: [{ id: OLD, runs: 1 }] });

  const next = await send<ProcessRecord>(server, "POST", "/processes", { code: "print new", block: true });
  expect(next.body).toMatchObject({ exitState: "success", environment: NEW });
  expect(fresh.last.inputs).toHaveLength(1);
  expect(old.last.toldDown).toBe(0);

  old.last.open("later");
  expect(await read(inFlight, "?wait=10000")).toMatchObject({
    exitState: "success",
    environment: OLD,
    stdout: "finished on the old one\n",
  });
  await until("the old one is torn down", () => old.last.toldDown === 1);
  await until("it is no longer draining", async () => (await states())[OLD] === "false inactive");
});

test("kill reaches a run on a draining environment", async () => {
  await start();
  const id = await submit("hang");
  await until("it runs", () => old.last.held === 1);
  await enable(NEW);
  expect((await send(server, "POST", `/processes/${id}/signals/kill`)).status).toBe(200);
  expect(await read(id, "?wait=10000")).toMatchObject({ exitState: "canceled", reason: "killed" });
  await until("the old one is torn down", () => old.last.toldDown === 1);
});

test("queued processes of before the switch run on the new environment", async () => {
  await start();
  old.last.slots = 1;
  const blocker = await submit("gate end");
  await until("it runs", () => old.last.held === 1);
  const waiting = await submit("print later");
  expect((await read(waiting)).state).toBe("queued");
  await enable(NEW);
  expect(await read(waiting, "?wait=10000")).toMatchObject({ exitState: "success", environment: NEW });
  old.last.open("end");
  expect((await read(blocker, "?wait=10000")).exitState).toBe("success");
});

test.each([
  [
    "throws in setup",
    async () => {
      throw new Error("isolates need 2 GiB; this machine has 1");
    },
    "isolates need 2 GiB; this machine has 1",
  ],
  [
    "never finishes its setup",
    () => new Promise<void>(() => {}),
    "setup() of typescript-ivm did not finish within 400 ms",
  ],
])("a new environment that %s leaves the old one active", async (_, beforeSetup, message) => {
  await start();
  fresh.prepare = (environment) => {
    environment.beforeSetup = beforeSetup;
  };
  const inFlight = await submit("gate later");
  const answer = await enable(NEW);
  expect([answer.status, answer.body.code]).toEqual([502, "module_failed"]);
  expect(answer.body.error).toContain(message);
  expect(answer.text).not.toContain("at ");
  expect(await states()).toEqual({ [OLD]: "true active", [NEW]: "false inactive" });
  const record = (await send<ModuleRecord>(server, "GET", `/modules/${NEW}`)).body;
  expect(record.error).toContain(message);
  expect((await send(server, "POST", "/processes", { code: "print a", block: true })).body).toMatchObject({
    environment: OLD,
    exitState: "success",
  });
  old.last.open("later");
  expect((await read(inFlight, "?wait=10000")).exitState).toBe("success");
  expect(old.last.toldDown).toBe(0);

  fresh.prepare = () => {};
  expect((await enable(NEW)).status).toBe(200);
  expect((await send<ModuleRecord>(server, "GET", `/modules/${NEW}`)).body.error).toBeNull();
});

test.each([
  ["throws", () => Promise.reject(new Error("cannot let go"))],
  ["hangs", () => new Promise<void>(() => {})],
])("a teardown that %s is logged and holds nothing up", async (_, beforeTeardown) => {
  old.prepare = (environment) => {
    environment.beforeTeardown = beforeTeardown;
  };
  await start();
  expect((await enable(NEW)).status).toBe(200);
  await until("it is no longer draining", async () => (await states())[OLD] === "false inactive");
  expect(
    server.logs.filter((line) => line.module === OLD && String(line.msg).includes("torn down")),
  ).toHaveLength(1);
  expect(old.last.toldDown).toBe(1);
});

test("concurrent switches happen one after another; exactly one environment is enabled in the end", async () => {
  await start();
  const answers = await Promise.all([NEW, OLD, NEW, OLD, NEW, OLD, NEW].map((id) => enable(id)));
  expect(answers.map((answer) => answer.status)).toEqual(Array(7).fill(200));
  const enabled = Object.entries(await states()).filter(([, state]) => state === "true active");
  expect(enabled).toHaveLength(1);
  await until("all others are torn down", () => {
    const down = [...old.made, ...fresh.made].filter((environment) => environment.toldDown > 0);
    return down.length === old.made.length + fresh.made.length - 1;
  });
  const rows = await server.pool<{ id: string }[]>`select id from modules where enabled`;
  expect(rows.map((row) => row.id)).toEqual(enabled.map(([id]) => id));
});

test("the database itself refuses a second enabled environment", async () => {
  await start();
  await expect(server.pool`update modules set enabled = true where id = ${NEW}`).rejects.toThrow(
    "modules_one_enabled_environment",
  );
});

test("disabling the only environment is allowed: its runs finish, new ones are refused, enabling it again works", async () => {
  await start();
  const inFlight = await submit("gate later");
  await until("it runs", () => old.last.held === 1);
  expect((await enable(OLD, false)).body).toEqual({ id: OLD, enabled: false });
  const refused = await send(server, "POST", "/processes", { code: "print a" });
  expect([refused.status, refused.body.code]).toEqual([503, "no_environment"]);
  old.last.open("later");
  expect((await read(inFlight, "?wait=10000")).exitState).toBe("success");
  await until("it is torn down", () => old.last.toldDown === 1);
  expect((await enable(OLD, false)).status).toBe(200);
  expect((await enable(OLD)).status).toBe(200);
  expect(old.made).toHaveLength(2);
  expect((await enable(OLD)).status).toBe(200);
  expect(old.made).toHaveLength(2);
});

test("a new configuration starts a fresh instance; the old one drains with the old configuration", async () => {
  await start();
  expect(old.last.config).toEqual({ size: 7 });
  const inFlight = await submit("gate later\nprint old");
  await until("it runs", () => old.last.held === 1);
  const [first] = old.made;
  const changed = await send(server, "PATCH", `/modules/${OLD}/config`, [
    { op: "add", path: "/size", value: 9 },
  ]);
  expect(changed.body).toEqual({ config: { size: 9 }, outdated: [] });
  expect(old.made).toHaveLength(2);
  expect(old.last.config).toEqual({ size: 9 });
  const next = await send(server, "POST", "/processes", { code: "print new", block: true });
  expect(next.body).toMatchObject({ exitState: "success", stdout: "new\n" });
  expect(old.last.inputs).toHaveLength(1);
  expect(first?.toldDown).toBe(0);
  first?.open("later");
  expect(await read(inFlight, "?wait=10000")).toMatchObject({ exitState: "success", stdout: "old\n" });
  await until("the old instance is torn down", () => first?.toldDown === 1);
});

test("a configuration with which the module cannot start is not kept", async () => {
  await start();
  const before = await send(server, "GET", `/modules/${OLD}/config`);
  old.prepare = (environment) => {
    environment.beforeSetup = () => Promise.reject(new Error("9 is too large for this machine"));
  };
  const answer = await send(server, "PATCH", `/modules/${OLD}/config`, [
    { op: "add", path: "/size", value: 9 },
  ]);
  expect([answer.status, answer.body.code]).toEqual([502, "module_failed"]);
  expect(answer.body.error).toContain("9 is too large for this machine");
  const after = await send(server, "GET", `/modules/${OLD}/config`);
  expect([after.body, after.headers.get("etag")]).toEqual([before.body, before.headers.get("etag")]);
  expect((await send(server, "POST", "/processes", { code: "print a", block: true })).body).toMatchObject({
    exitState: "success",
  });
});

test("replaced environments that never end are bounded", async () => {
  await start({ limits: { maxDraining: 2 } });
  const ids: number[] = [];
  for (const size of [1, 2]) {
    ids.push(await submit("gate never"));
    await until("it runs", () => old.last.held === 1);
    expect(
      (await send(server, "PATCH", `/modules/${OLD}/config`, [{ op: "add", path: "/size", value: size }]))
        .status,
    ).toBe(200);
  }
  const refused = await send(server, "PATCH", `/modules/${OLD}/config`, [
    { op: "add", path: "/size", value: 3 },
  ]);
  expect([refused.status, refused.body.code]).toEqual([409, "environments_draining"]);
  for (const id of ids) await send(server, "POST", `/processes/${id}/signals/kill`);
  await until("they are gone", async () => (await enable(NEW)).status === 200);
});

test("shutting down tears down the active and the draining environment", async () => {
  await start();
  await submit("hang");
  await until("it runs", () => old.last.held === 1);
  await enable(NEW);
  await server.stop();
  expect([old.last.toldDown, fresh.last.toldDown]).toEqual([1, 1]);
});

test("a switch that cannot be stored is undone: the old environment stays, the new one is torn down", async () => {
  await start();
  await server.pool`create function test_refuse() returns trigger language plpgsql as $$
    begin raise exception 'disk full'; end $$`;
  await server.pool`create trigger test_refuse before update on modules for each row execute function test_refuse()`;
  expect((await enable(NEW)).status).toBe(500);
  await until("the new one is torn down", () => fresh.last.toldDown === 1);
  expect(await states()).toEqual({ [OLD]: "true active", [NEW]: "false inactive" });
  await server.pool`drop trigger test_refuse on modules`;
  expect((await enable(NEW)).status).toBe(200);
  expect(old.last.toldDown).toBe(1);
});
