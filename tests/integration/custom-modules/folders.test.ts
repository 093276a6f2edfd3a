/** Modules placed by hand: what is found, what is refused and how it is said, and what a reload changes. */
import { execFileSync } from "node:child_process";
import { chmod, mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ModuleRecord } from "#api/components/modules/model.ts";
import { adapterEntries, type ModulesBench, openModulesBench, placeFiles, takeEvents } from "./bench.ts";
import { moduleEntries } from "./packs.ts";

let bench: ModulesBench | null = null;
beforeEach(() => void takeEvents());
afterEach(async () => {
  await bench?.[Symbol.asyncDispose]();
  bench = null;
});

async function open(prepare: (directory: string) => Promise<void>): Promise<ModulesBench> {
  bench = await openModulesBench({ prepare });
  return bench;
}

async function custom(): Promise<Record<string, string>> {
  const { body } = await (bench as ModulesBench).server.get("/modules?isBuiltin=false&limit=200");
  const modules = body.modules as ModuleRecord[];
  return Object.fromEntries(
    modules.map((module) => [module.id, `${module.enabled} ${module.state}: ${module.error}`]),
  );
}

test("a new module is listed, disabled, and none of its code has run; enabled, it runs; it stays enabled after a restart", async () => {
  const { server, restart, module, enable } = await open((directory) =>
    placeFiles(path.join(directory, "tickets"), adapterEntries("tickets", "v1")),
  );
  expect(await module("tickets")).toMatchObject({
    id: "tickets",
    name: "The tickets",
    type: "adapter",
    version: "v1",
    isBuiltin: false,
    enabled: false,
    missing: false,
    error: null,
    state: "inactive",
    source: "",
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(takeEvents()).toEqual([]);
  expect((await enable("tickets")).status).toBe(200);
  expect(takeEvents()).toEqual(["import v1", "setup v1"]);
  expect((await module("tickets")).state).toBe("active");
  // Switching it off and on again makes a new instance of the code that is loaded.
  await enable("tickets", false);
  await enable("tickets");
  expect(takeEvents()).toEqual(["teardown v1", "setup v1"]);
  expect((await server.request("DELETE", "/modules/typescript-process")).body.code).toBe("builtin_module");
  await restart();
  expect(await module("tickets")).toMatchObject({ enabled: true, state: "active" });
});

test("whatever is wrong with a folder is said on a row; the others and the server start", async () => {
  await open(async (directory) => {
    const place = (folder: string, entries: ReturnType<typeof moduleEntries>) =>
      placeFiles(path.join(directory, folder), entries);
    const manifest = (folder: string, text: string) => place(folder, [{ name: "module.json", data: text }]);
    await place("fine", adapterEntries("fine", "v1"));
    await manifest("half", '{"id": "half", "type": "adap');
    await manifest("empty", "");
    await manifest("list", "[1]");
    await manifest("nothing", "null");
    await manifest("typeless", JSON.stringify({ id: "typeless", name: "x", description: "", main: "a.mjs" }));
    await manifest(
      "unnamed",
      JSON.stringify({ id: "no spaces", type: "adapter", name: "x", description: "", main: "a" }),
    );
    await manifest("giant", `{"id": "giant", "name": "${"x".repeat(300_000)}"}`);
    await place("longwinded", moduleEntries({ id: "longwinded", name: "n".repeat(5000) }, ""));
    await place("nul", moduleEntries({ id: "nul", description: "a\0b" }, ""));
    await manifest(
      "deep",
      `{"id":"deep","type":"adapter","name":"d","description":"","main":"a.mjs","configSchema":{"a":${"[".repeat(60_000)}${"]".repeat(60_000)}}}`,
    );
    await place("mainless", [
      { name: "module.json", data: moduleEntries({ id: "mainless" }, "")[0]?.data ?? "" },
    ]);
    await place("outside", moduleEntries({ id: "outside", main: "../fine/main.mjs" }, "").slice(0, 1));
    await place("absolute", moduleEntries({ id: "absolute", main: "/etc/hostname" }, "").slice(0, 1));
    await place("linked", moduleEntries({ id: "linked" }, "").slice(0, 1));
    await symlink(path.join(directory, "fine", "main.mjs"), path.join(directory, "linked", "main.mjs"));
    await place("itself", moduleEntries({ id: "itself", main: "." }, "").slice(0, 1));
    await place("piped", moduleEntries({ id: "piped" }, ""));
    makePipe(path.join(directory, "piped", "pipe"));
    await mkdir(path.join(directory, "manifestpipe"));
    makePipe(path.join(directory, "manifestpipe", "module.json"));
    await mkdir(path.join(directory, "manifestfolder", "module.json"), { recursive: true });
    await mkdir(path.join(directory, "no-module"));
    await writeFile(path.join(directory, "a-file"), "");
    await symlink("/nonexistent", path.join(directory, "dangling"));
    await place(".hidden", adapterEntries("hidden", "v1"));
  });
  expect(await custom()).toEqual({
    fine: "false inactive: null",
    half: expect.stringContaining("is not JSON, or is incomplete"),
    empty: expect.stringContaining("is not JSON"),
    list: expect.stringContaining("is wrong at the top"),
    nothing: expect.stringContaining("is wrong at the top"),
    typeless: expect.stringContaining("is wrong at type"),
    unnamed: expect.stringContaining("is wrong at id"),
    giant: expect.stringContaining("the limit is 262144"),
    longwinded: expect.stringContaining("is wrong at name"),
    nul: expect.stringContaining("NUL character"),
    deep: expect.stringContaining("nested deeper than 100 levels"),
    mainless: expect.stringContaining("Its main (main.mjs) does not exist"),
    outside: expect.stringContaining("leads out of its folder"),
    absolute: expect.stringContaining("leads out of its folder"),
    linked: expect.stringContaining("leads out of its folder through a link"),
    itself: expect.stringContaining("leads out of its folder"),
    piped: expect.stringContaining("pipe is neither a file, a folder nor a link"),
    manifestpipe: expect.stringContaining("module.json is not a file"),
    manifestfolder: expect.stringContaining("module.json is not a file"),
  });
  const run = await (bench as ModulesBench).server.post("/processes", { code: "print a", block: true });
  expect(run.body).toMatchObject({ exitState: "success" });
  expect((await (bench as ModulesBench).enable("fine")).status).toBe(200);
});

test("an id that is taken, by another folder or by the server, is refused; the first one is untouched", async () => {
  const { server } = await open(async (directory) => {
    await placeFiles(path.join(directory, "a-copy"), adapterEntries("original", "copy"));
    await placeFiles(path.join(directory, "original"), adapterEntries("original", "true"));
    await placeFiles(
      path.join(directory, "typescript-process"),
      adapterEntries("typescript-process", "evil"),
    );
    await placeFiles(path.join(directory, "shadow"), adapterEntries("typescript-process", "evil"));
    await placeFiles(path.join(directory, "not an id"), adapterEntries("original", "copy"));
  });
  expect(await custom()).toEqual({
    original: "false inactive: null",
    "a-copy": expect.stringContaining("It says it is original, which the folder original is already"),
    shadow: expect.stringContaining("It says it is typescript-process, which comes with the server"),
  });
  expect((await (bench as ModulesBench).module("original")).version).toBe("true");
  expect(await (bench as ModulesBench).module("typescript-process")).toMatchObject({
    isBuiltin: true,
    state: "active",
    error: null,
  });
  const reloaded = await server.post("/modules/reload");
  expect(reloaded.status).toBe(200);
  expect(reloaded.body).toMatchObject({ added: [], changed: [], removed: [] });
  expect(reloaded.body.problems.map((problem: { folder: string }) => problem.folder).sort()).toEqual([
    "a-copy",
    "not an id",
    "shadow",
    "typescript-process",
  ]);
});

describe("reload", () => {
  test("finds what is new, marks what is gone, and starts changed files anew, imported files included", async () => {
    const { server, directory, module, enable } = await open((directory) =>
      placeFiles(path.join(directory, "a"), adapterEntries("a", "v1")),
    );
    await enable("a");
    takeEvents();
    expect((await server.post("/modules/reload")).body).toEqual({
      added: [],
      changed: [],
      removed: [],
      problems: [],
    });
    expect(takeEvents()).toEqual([]);

    await placeFiles(path.join(directory, "b"), adapterEntries("b", "v1"));
    await placeFiles(path.join(directory, "a"), [
      { name: "version.mjs", data: 'export const version = "v2";' },
    ]);
    expect((await server.post("/modules/reload")).body).toEqual({
      added: ["b"],
      changed: ["a"],
      removed: [],
      problems: [],
    });
    expect(takeEvents()).toEqual(["import v2", "setup v2", "teardown v1"]);
    expect(await module("b")).toMatchObject({ enabled: false, state: "inactive" });

    await rename(path.join(directory, "a"), path.join(directory, ".away"));
    expect((await server.post("/modules/reload")).body).toMatchObject({ removed: ["a"] });
    expect(await module("a")).toMatchObject({ enabled: true, missing: true, state: "inactive" });
    expect(takeEvents()).toEqual(["teardown v2"]);
    expect((await enable("a")).body.code).toBe("module_missing");
    await rename(path.join(directory, ".away"), path.join(directory, "a"));
    expect((await server.post("/modules/reload")).body).toMatchObject({ added: ["a"] });
    expect(await module("a")).toMatchObject({ enabled: true, missing: false, state: "active" });
  });

  test("files that do not start leave what runs running and say so, until they are repaired", async () => {
    const { server, directory, module, enable } = await open((directory) =>
      placeFiles(path.join(directory, "a"), adapterEntries("a", "v1")),
    );
    await enable("a");
    for (const [entry, reason] of [
      [{ name: "version.mjs", data: "export const version = ;" }, /Unexpected token|error/i],
      [{ name: "module.json", data: '{"id": "a", "type"' }, /is not JSON, or is incomplete/],
    ] as const) {
      await placeFiles(path.join(directory, "a"), [entry]);
      expect((await server.post("/modules/reload")).status).toBe(200);
      // Twice: what is unchanged since the last reload is still not what runs.
      await server.post("/modules/reload");
      const record = await module("a");
      expect(record).toMatchObject({ enabled: true, state: "active", type: "adapter" });
      expect(record.error).toMatch(/The previous version keeps running/);
      expect(record.error).toMatch(reason);
      expect(takeEvents().filter((event) => event.startsWith("teardown"))).toEqual([]);
    }
    await placeFiles(path.join(directory, "a"), adapterEntries("a", "v3"));
    await server.post("/modules/reload");
    expect(takeEvents()).toEqual(["import v3", "setup v3", "teardown v1"]);
    expect(await module("a")).toMatchObject({ state: "active", error: null, version: "v3" });
  });

  test.runIf(process.getuid?.() !== 0)("a folder that cannot be read changes nothing", async () => {
    const { server, directory, module, enable } = await open((directory) =>
      placeFiles(path.join(directory, "a"), adapterEntries("a", "v1")),
    );
    await enable("a");
    await chmod(directory, 0);
    try {
      expect((await server.post("/modules/reload")).status).toBe(500);
      expect(await module("a")).toMatchObject({ missing: false, state: "active" });
    } finally {
      await chmod(directory, 0o755);
    }
  });

  test("a modules folder that is a file changes nothing", async () => {
    const { server, directory, module, enable } = await open((directory) =>
      placeFiles(path.join(directory, "a"), adapterEntries("a", "v1")),
    );
    await enable("a");
    await rename(directory, `${directory}-away`);
    await writeFile(directory, "");
    expect((await server.post("/modules/reload")).status).toBe(500);
    expect(await module("a")).toMatchObject({ missing: false, state: "active" });
    await rm(directory);
    await rename(`${directory}-away`, directory);
    expect((await server.post("/modules/reload")).body).toMatchObject({ removed: [], changed: [] });
  });

  test("files that change between the reading and the loading are not loaded", async () => {
    const { server, directory, enable } = await open((directory) =>
      placeFiles(path.join(directory, "a"), adapterEntries("a", "v1")),
    );
    await placeFiles(path.join(directory, "a"), adapterEntries("a", "v2"));
    const refused = await enable("a");
    expect([refused.status, refused.body.error]).toEqual([
      502,
      expect.stringContaining("Its files have changed since they were read. POST /modules/reload"),
    ]);
    expect(takeEvents()).toEqual([]);
    await server.post("/modules/reload");
    expect((await enable("a")).status).toBe(200);
    expect(takeEvents()).toEqual(["import v2", "setup v2"]);
  });
});

test("copies of earlier starts are removed at the next start", async () => {
  const { restart, directory, enable, stop } = await open((directory) =>
    placeFiles(path.join(directory, "a"), adapterEntries("a", "v1")),
  );
  await enable("a");
  await restart();
  await enable("a", false);
  const before = await readdir(directory);
  await restart();
  const after = await readdir(directory);
  expect(before.filter((name) => name.startsWith(".loaded-"))).toHaveLength(1);
  expect(after).toEqual(["a"]);
  await stop();
});

test("a CommonJS module, a TypeScript module and a default export are modules too", async () => {
  const { enable, module } = await open(async (directory) => {
    const members =
      "{ async setup() {}, async teardown() {}, async generateDefinition() {}, async hydrateService() {}, async dehydrateService() {}, async invoke() {} }";
    await placeFiles(
      path.join(directory, "common"),
      moduleEntries({ id: "common", main: "main.cjs" }, `exports.instantiate = () => (${members});`),
    );
    await placeFiles(
      path.join(directory, "typed"),
      moduleEntries(
        { id: "typed", main: "src/main.mts" },
        `export function instantiate(): unknown { return ${members}; }`,
      ),
    );
    await placeFiles(
      path.join(directory, "default"),
      moduleEntries(
        { id: "default", main: "./main.mjs" },
        `export default { instantiate: () => (${members}) };`,
      ),
    );
  });
  for (const id of ["common", "typed", "default"]) {
    expect((await enable(id)).body, id).toEqual({ id, enabled: true });
    expect((await module(id)).state).toBe("active");
  }
});

test("a folder that is a link, as while developing, is a module; deleting it leaves what it leads to", async () => {
  const { enable, module, server, directory } = await open(async (directory) => {
    await placeFiles(path.join(directory, "..", "workspace"), adapterEntries("dev", "v1"));
    await mkdir(directory, { recursive: true });
    await symlink("../workspace", path.join(directory, "dev"));
  });
  expect((await enable("dev")).status).toBe(200);
  expect((await module("dev")).state).toBe("active");
  expect((await server.request("DELETE", "/modules/dev")).status).toBe(204);
  expect(await readdir(path.join(directory, "..", "workspace"))).toEqual([
    "main.mjs",
    "module.json",
    "version.mjs",
  ]);
});

/** Opening one for reading waits for a writer, for ever. */
function makePipe(file: string): void {
  execFileSync("sh", ["-c", 'mkfifo "$0"', file]);
}
