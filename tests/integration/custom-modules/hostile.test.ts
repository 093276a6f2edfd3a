/** Modules that hang, throw and lie: each costs its own row an error, none of them the server or another module. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ModuleRecord } from "#api/components/modules/model.ts";
import { createModules } from "#api/components/modules/service.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { createVault } from "#api/secrets/vault.ts";
import { createTestDatabase } from "../harness/database.ts";
import { until } from "../processes-server.ts";
import { adapterEntries, type ModulesBench, openModulesBench, placeFiles, takeEvents } from "./bench.ts";
import { moduleEntries } from "./packs.ts";

let bench: ModulesBench | null = null;
beforeEach(() => void takeEvents());
afterEach(async () => {
  await bench?.[Symbol.asyncDispose]();
  bench = null;
});

/** The modules feature alone, with limits that a test can wait for. */
async function openFeature(prepare: (directory: string) => Promise<void>) {
  await using undo = new AsyncDisposableStack();
  const data = await mkdtemp(path.join(tmpdir(), "cyrnel-hostile-"));
  undo.defer(() => rm(data, { recursive: true, force: true }));
  const database = undo.adopt(await createTestDatabase({ maxConnections: 5 }), (made) => made.drop());
  const directory = path.join(data, "modules");
  await prepare(directory);
  const logs: Record<string, unknown>[] = [];
  const redactor = createRedactor();
  const modules = createModules({
    secrets: createVault(null, redactor),
    watch: redactor,
    pool: database.pool,
    logger: pino({ level: "info" }, { write: (line: string) => void logs.push(JSON.parse(line)) }),
    isolation: "development",
    fetch: globalThis.fetch,
    builtins: [],
    custom: { directory, download: () => Promise.reject(new Error("not here")) },
    limits: { maxSetupMs: 400, maxTeardownMs: 400, maxImportMs: 400 },
  });
  undo.defer(() => modules.close());
  await modules.start({ bindings: {} as never });
  const resources = undo.move();
  return {
    modules,
    directory,
    logs,
    pool: database.pool,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

const HOSTILE: [string, string, RegExp][] = [
  [
    "hangs at its top",
    "await new Promise(() => {}); export function instantiate() {}",
    /import of main.mjs did not finish within 400 ms/,
  ],
  ["throws at its top", "throw new Error('gone wrong'); export function instantiate() {}", /gone wrong/],
  ["throws nothing at its top", "throw undefined; export function instantiate() {}", /./],
  [
    "throws an object that throws",
    "throw { get message() { throw 1 }, toString() { throw 2 } }; export const instantiate = 1;",
    /./,
  ],
  ["is no JavaScript", "]]]", /./],
  [
    "imports what is not there",
    "import 'no-such-package-at-all'; export function instantiate() {}",
    /no-such-package-at-all/,
  ],
  ["exports nothing", "export const x = 1;", /exports no function named instantiate/],
  ["instantiates nothing", "export const instantiate = () => null;", /lacks setup\(\)/],
  [
    "hangs in instantiate",
    "export const instantiate = () => new Promise(() => {});",
    /instantiate\(\) of .* did not finish/,
  ],
  [
    "has a thenable for an instance",
    "export const instantiate = () => ({ then() {} });",
    /instantiate\(\) of .* did not finish/,
  ],
  [
    "throws an error that throws",
    "export const instantiate = () => { throw Object.defineProperty(new Error('x'), 'message', { get() { throw 1 } }); };",
    /./,
  ],
  [
    "has getters that throw",
    "export const instantiate = () => new Proxy({}, { get() { throw new Error('proxy') } });",
    /proxy/,
  ],
  [
    "hangs in setup",
    "export const instantiate = () => ({...members, setup: () => new Promise(() => {})});",
    /setup\(\) of .* did not finish/,
  ],
  [
    "says a novel",
    "export const instantiate = () => { throw new Error('x'.repeat(1e6)) };",
    /^x{100,}\.\.\.$/,
  ],
];
const MEMBERS = `const members = { async setup() {}, async teardown() {}, async generateDefinition() {}, async hydrateService() {},
  async dehydrateService() {}, async invoke() {} };\n`;

test("a module that hangs or throws on its way in gets the reason; the one beside it runs, also after a restart", async () => {
  const prepare = async (directory: string) => {
    for (const [index, [, code]] of HOSTILE.entries()) {
      await placeFiles(path.join(directory, `m${index}`), moduleEntries({ id: `m${index}` }, MEMBERS + code));
    }
    await placeFiles(path.join(directory, "fine"), adapterEntries("fine", "v1"));
  };
  await using feature = await openFeature(prepare);
  const { modules, pool } = feature;
  for (const [index, [what, , message]] of HOSTILE.entries()) {
    const error = await modules.setEnabled(`m${index}`, true).then(
      () => null,
      (reason: Error & { code?: string }) => reason,
    );
    expect(error?.code, what).toBe("module_failed");
    const row = await modules.get(`m${index}`);
    expect(row, what).toMatchObject({ enabled: false, state: "inactive" });
    expect(row.error, what).toMatch(message);
    expect(row.error?.length).toBeLessThanOrEqual(2000);
  }
  await modules.setEnabled("fine", true);
  expect((await modules.get("fine")).state).toBe("active");

  // Enabled although they do not start, as after a machine lost a library: the start goes round them.
  await pool`update modules set enabled = true where type = 'adapter'`;
  await modules.reload();
  for (const index of HOSTILE.keys()) {
    expect(await modules.get(`m${index}`)).toMatchObject({
      enabled: true,
      state: "inactive",
      error: expect.any(String),
    });
  }
  expect((await modules.get("fine")).state).toBe("active");
}, 60_000);

test("a teardown that throws or hangs holds nothing up and is logged", async () => {
  await using feature = await openFeature(async (directory) => {
    for (const [id, teardown] of [
      ["throwing", "async () => { throw new Error('cannot let go') }"],
      ["hanging", "() => new Promise(() => {})"],
      ["sudden", "() => { throw new Error('at once') }"],
    ] as const) {
      const code = `${MEMBERS} export const instantiate = () => ({ ...members, teardown: ${teardown} });`;
      await placeFiles(path.join(directory, id), moduleEntries({ id }, code));
    }
  });
  const { modules, logs } = feature;
  for (const id of ["throwing", "hanging", "sudden"]) {
    await modules.setEnabled(id, true);
    await modules.setEnabled(id, false);
    expect(await modules.get(id)).toMatchObject({ enabled: false, state: "inactive", error: null });
    expect(
      logs.some((line) => line.module === id && String(line.msg).includes("could not be torn down")),
    ).toBe(true);
    // Deleting one that is active tears it down too.
    await modules.setEnabled(id, true);
    await modules.remove(id);
  }
  expect((await modules.list({}, { from: null, limit: 10 })).modules).toEqual([]);
});

test("setup that finishes too late is undone, and does not take the place of what was chosen meanwhile", async () => {
  await using feature = await openFeature((directory) =>
    placeFiles(
      path.join(directory, "late"),
      moduleEntries(
        { id: "late" },
        `${MEMBERS} const gate = (globalThis.lateGate = Promise.withResolvers());
         export const instantiate = () => ({ ...members, setup: () => gate.promise,
           teardown: async () => void (globalThis.customModuleEvents ??= []).push("late teardown") });`,
      ),
    ),
  );
  await expect(feature.modules.setEnabled("late", true)).rejects.toThrow(/did not finish/);
  expect(takeEvents()).toEqual([]);
  (globalThis as unknown as { lateGate: PromiseWithResolvers<void> }).lateGate.resolve();
  await until("it is torn down", () => takeEvents().includes("late teardown"));
});

test("a module that changes the objects it is given changes nothing of the host's", async () => {
  bench = await openModulesBench({
    prepare: (directory) =>
      placeFiles(
        path.join(directory, "greedy"),
        adapterEntries("greedy", "v1", {
          body: `adapter.setup = async (context) => {
            context.config.size = 99; context.secrets.x = 1; delete context.logger; context.fetch = null;
          };`,
          manifest: { configSchema: { type: "object", properties: { size: { default: 1 } } } },
        }),
      ),
  });
  expect((await bench.enable("greedy")).status).toBe(200);
  expect((await bench.server.get("/modules/greedy/config")).body.config).toEqual({});
  const { body } = await bench.server.get("/modules/greedy/config/schema");
  expect(body.configSchema.properties.size).toEqual({ default: 1 });
});

test("a thousand folders are read, those beyond are said to be too many", async () => {
  bench = await openModulesBench({
    prepare: async (directory) => {
      for (let n = 0; n < 1005; n++) {
        const id = `m${String(n).padStart(4, "0")}`;
        await placeFiles(path.join(directory, id), [{ name: "module.json", data: "{}" }]);
      }
    },
  });
  const { body, status, text } = await bench.server.post("/modules/reload");
  expect([status, text.slice(0, 300)]).toEqual([200, expect.any(String)]);
  expect(body.problems[0]).toEqual({
    folder: "m1000",
    error: expect.stringContaining("more than 1000 folders"),
  });
  const page = await bench.server.get("/modules?limit=1&query=m1");
  expect((page.body.modules as ModuleRecord[])[0]?.id).not.toBe("m1004");
}, 60_000);
