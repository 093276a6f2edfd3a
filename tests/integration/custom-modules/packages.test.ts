/** Packages over HTTP: installed, refused, updated, taken back, deleted; and what a crash in the middle leaves behind. */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  adapterEntries,
  adapterPackage,
  type ModulesBench,
  type ModulesBenchOptions,
  openModulesBench,
  placeFiles,
  takeEvents,
} from "./bench.ts";
import { makePackage, moduleEntries } from "./packs.ts";

let bench: ModulesBench | null = null;
beforeEach(() => void takeEvents());
afterEach(async () => {
  await bench?.[Symbol.asyncDispose]();
  bench = null;
});

async function open(options?: ModulesBenchOptions): Promise<ModulesBench> {
  bench = await openModulesBench(options);
  return bench;
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** What is in the folder of the modules, the server's copies of running ones aside. */
async function folders(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  return names.filter((name) => !name.startsWith(".loaded-")).sort();
}

async function tools(): Promise<Record<string, string>> {
  const rows = await (bench as ModulesBench).server.pool<{ id: string; domain: string }[]>`
    select service_id || '.' || id as id, adapter_domain #>> '{}' as domain from tools order by 1`;
  return Object.fromEntries(rows.map(({ id, domain }) => [id, domain]));
}

async function addService(id: string, content = "a definition"): Promise<void> {
  const { server } = bench as ModulesBench;
  const made = await server.post("/services", { id, adapter: "tickets", content });
  expect(made.text).toContain(id);
  expect((await server.post(`/services/${id}/enabled`, { enabled: true })).status).toBe(200);
}

describe("install", () => {
  test("a package comes in disabled, none of its code has run, and it is there after a restart", async () => {
    const { server, serve, module, directory, restart, enable } = await open();
    const bytes = await adapterPackage("tickets", "v1");
    const answer = await server.post("/modules", { url: serve("tickets.tar.zst", bytes) });
    expect([answer.status, answer.body]).toEqual([201, { id: "tickets" }]);
    expect(answer.headers.get("location")).toBe("/modules/tickets");
    expect(takeEvents()).toEqual([]);
    const record = await module("tickets");
    expect(record).toMatchObject({
      version: "v1",
      isBuiltin: false,
      enabled: false,
      missing: false,
      error: null,
      state: "inactive",
      hash: sha256(bytes),
      source: "",
    });
    expect(await folders(directory)).toEqual(["tickets"]);
    await restart();
    expect(await module("tickets")).toEqual(record);
    expect((await enable("tickets")).status).toBe(200);
    expect(takeEvents()).toEqual(["import v1", "setup v1"]);
  });

  test("a package may hold the module's folder instead of its contents", async () => {
    const { server, serve, enable } = await open();
    const inFolder = adapterEntries("tickets", "v1").map((entry) => ({
      ...entry,
      name: `tickets-1.0/${entry.name}`,
    }));
    const url = serve("a", await makePackage(inFolder));
    expect((await server.post("/modules", { url })).status).toBe(201);
    expect((await enable("tickets")).status).toBe(200);
  });

  test("an id that is taken is refused, whoever has it", async () => {
    const { server, serve, directory } = await open({
      prepare: (directory) => placeFiles(path.join(directory, "tickets"), adapterEntries("tickets", "v1")),
    });
    await mkdir(path.join(directory, "notes"));
    await writeFile(path.join(directory, "notes", "mine.txt"), "precious");
    for (const id of ["tickets", "typescript-process", "notes"]) {
      const url = serve(id, await adapterPackage(id, "v2"));
      const answer = await server.post("/modules", { url });
      expect([answer.status, answer.body.code], id).toEqual([409, "module_taken"]);
    }
    expect(await folders(directory)).toEqual(["notes", "tickets"]);
    expect(await readFile(path.join(directory, "notes", "mine.txt"), "utf8")).toBe("precious");
  });

  test.each<[string, () => Promise<Buffer>, number, string, RegExp]>([
    [
      "no package",
      async () => Buffer.from("<html>"),
      400,
      "invalid_package",
      /not compressed with Zstandard/,
    ],
    [
      "more than 10 MiB",
      async () => Buffer.alloc(11 * 1024 * 1024),
      413,
      "payload_too_large",
      /larger than the limit of 10485760 bytes/,
    ],
    [
      "no module",
      () => makePackage([{ name: "readme.md", data: "x" }]),
      400,
      "invalid_package",
      /contains no module.json/,
    ],
    [
      "a broken manifest",
      () => makePackage([{ name: "module.json", data: "{" }]),
      400,
      "invalid_package",
      /is not JSON/,
    ],
    [
      "a main that is not there",
      () => makePackage(moduleEntries({ id: "x" }, "").slice(0, 1)),
      400,
      "invalid_package",
      /Its main \(main.mjs\) does not exist/,
    ],
    [
      "a main outside",
      () => makePackage(moduleEntries({ id: "x", main: "../../../main.mjs" }, "").slice(0, 1)),
      400,
      "invalid_package",
      /leads out of its folder/,
    ],
    [
      "a link",
      () => makePackage([...moduleEntries({ id: "x" }, ""), { name: "l", type: "symlink", linkname: "/" }]),
      400,
      "invalid_package",
      /is a symlink/,
    ],
    [
      "a way out",
      () => makePackage([...moduleEntries({ id: "x" }, ""), { name: "../../evil", data: "x" }]),
      400,
      "invalid_package",
      /leads upwards/,
    ],
  ])("%s is refused and leaves nothing", async (_, make, status, code, message) => {
    const { server, serve, directory } = await open();
    const answer = await server.post("/modules", { url: serve("p", await make()) });
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(answer.body.error).toMatch(message);
    expect(await folders(directory)).toEqual([]);
    expect((await server.get("/modules?isBuiltin=false")).body.modules).toEqual([]);
  });

  test("addresses are the guarded download's business, and only http is one", async () => {
    const { server } = await open();
    for (const [url, status, code] of [
      ["http://169.254.169.254/latest", 502, "egress_refused"],
      ["file:///etc/passwd", 400, "invalid_request"],
      ["https://user:secret-password@127.0.0.1/", 400, "invalid_request"],
      ["not a url", 400, "invalid_request"],
    ] as const) {
      const answer = await server.post("/modules", { url });
      expect([url, answer.status, answer.body.code]).toEqual([url, status, code]);
    }
  });
});

describe("registry", () => {
  test("what it names is installed when its hash is right, and updated from there", async () => {
    const { server, serve, module } = await open();
    const first = await adapterPackage("tickets", "v1");
    serve("first.tar.zst", first);
    const source = serve("registry", {
      downloadUrl: "first.tar.zst",
      hash: sha256(first).toUpperCase(),
      id: "tickets",
    });
    const installed = await server.post("/modules/install", { source });
    expect([installed.status, installed.body]).toEqual([201, { id: "tickets" }]);
    expect(await module("tickets")).toMatchObject({ source, hash: sha256(first) });
    expect((await server.post("/modules/tickets/update")).body).toEqual({ id: "tickets", updated: false });

    const second = await adapterPackage("tickets", "v2");
    serve("registry", { downloadUrl: serve("second.tar.zst", second), extra: "ignored" });
    expect((await server.post("/modules/tickets/update")).body).toEqual({ id: "tickets", updated: true });
    expect(await module("tickets")).toMatchObject({ source, hash: sha256(second), version: "v2" });
    expect((await server.post("/modules/tickets/update")).body).toEqual({ id: "tickets", updated: false });
  });

  test("a registry that is wrong changes nothing", async () => {
    const { server, serve, directory } = await open();
    const bytes = await adapterPackage("tickets", "v1");
    const downloadUrl = serve("p", bytes);
    for (const [descriptor, status, code] of [
      [{ downloadUrl, hash: "0".repeat(64) }, 502, "hash_mismatch"],
      [{ downloadUrl, hash: "12" }, 502, "invalid_descriptor"],
      [{ downloadUrl, id: "another" }, 502, "invalid_descriptor"],
      [{ hash: "0".repeat(64) }, 502, "invalid_descriptor"],
      [{ downloadUrl: "http://169.254.169.254/" }, 502, "egress_refused"],
      [Buffer.from("<html>"), 502, "invalid_descriptor"],
    ] as const) {
      const answer = await server.post("/modules/install", { source: serve("registry", descriptor) });
      expect([answer.status, answer.body.code], JSON.stringify(descriptor)).toEqual([status, code]);
    }
    expect(await folders(directory)).toEqual([]);
  });

  test("without a registry there is nothing to update from", async () => {
    const { server, serve } = await open();
    await server.post("/modules", { url: serve("p", await adapterPackage("tickets", "v1")) });
    expect((await server.post("/modules/tickets/update")).body.code).toBe("no_source");
    expect((await server.post("/modules/typescript-process/update")).body.code).toBe("builtin_module");
    expect((await server.post("/modules/nobody/update")).body.code).toBe("not_found");
  });
});

describe("update", () => {
  test("an enabled adapter is replaced: new code, new tools of its services, the old instance torn down", async () => {
    const { server, serve, module, enable, directory, restart } = await open();
    await server.post("/modules", { url: serve("p", await adapterPackage("tickets", "v1")) });
    await enable("tickets");
    await addService("desk");
    expect(await tools()).toEqual({ "desk.ask": "v1", "desk.only_v1": "v1" });
    takeEvents();

    const second = await adapterPackage("tickets", "v2");
    const url = serve("p", second);
    expect((await server.request("PATCH", "/modules/tickets", { json: { url } })).body).toEqual({
      id: "tickets",
      updated: true,
    });
    expect(await tools()).toEqual({ "desk.ask": "v2", "desk.only_v2": "v2" });
    const events = takeEvents();
    expect(events.slice(0, 2)).toEqual(["import v2", "setup v2"]);
    expect(events).toContain("hydrate v2 desk v2");
    expect(events.at(-1)).toBe("teardown v1");
    expect(await module("tickets")).toMatchObject({
      version: "v2",
      enabled: true,
      state: "active",
      hash: sha256(second),
    });
    expect(await folders(directory)).toEqual(["tickets"]);
    expect(await readFile(path.join(directory, "tickets", "version.mjs"), "utf8")).toContain("v2");
    const again = await server.request("PATCH", "/modules/tickets", { json: { url } });
    expect(again.body).toEqual({ id: "tickets", updated: false });
    await restart();
    expect(takeEvents()).toContain("hydrate v2 desk v2");
    expect((await module("tickets")).state).toBe("active");
  });

  test("a service that the new version cannot make becomes stale; the others go on", async () => {
    const { server, serve, enable } = await open();
    await server.post("/modules", { url: serve("p", await adapterPackage("tickets", "v1")) });
    await enable("tickets");
    await addService("desk");
    await addService("old", "refuse v2");
    const url = serve("p", await adapterPackage("tickets", "v2"));
    expect((await server.request("PATCH", "/modules/tickets", { json: { url } })).body.updated).toBe(true);
    expect((await server.get("/services/desk")).body).toMatchObject({ stale: false, description: "v2" });
    expect((await server.get("/services/old")).body).toMatchObject({ stale: true });
  });

  test.each<[string, string, RegExp]>([
    ["throws when it is imported", "at import", /no such library/],
    ["throws in setup", "adapter.setup = async () => { throw new Error('no license'); };", /no license/],
    ["lacks a member", "delete adapter.invoke;", /lacks invoke\(\)/],
  ])("a new version that %s leaves everything as it was", async (_, body, message) => {
    const { server, serve, module, enable, directory } = await open();
    await server.post("/modules", { url: serve("p", await adapterPackage("tickets", "v1")) });
    await enable("tickets");
    await addService("desk");
    const before = await module("tickets");
    takeEvents();
    const entries = adapterEntries("tickets", "v2", { body: body === "at import" ? "" : body }).map(
      (entry) =>
        body === "at import" && entry.name === "version.mjs"
          ? { ...entry, data: 'export const version = "v2"; throw new Error("no such library");' }
          : entry,
    );
    const url = serve("p", await makePackage(entries));
    const answer = await server.request("PATCH", "/modules/tickets", { json: { url } });
    expect([answer.status, answer.body.code]).toEqual([502, "module_failed"]);
    expect(answer.body.error).toMatch(message);
    expect(await module("tickets")).toEqual(before);
    expect(await tools()).toEqual({ "desk.ask": "v1", "desk.only_v1": "v1" });
    expect(await folders(directory)).toEqual(["tickets"]);
    expect(await readFile(path.join(directory, "tickets", "version.mjs"), "utf8")).toContain("v1");
    expect(takeEvents()).not.toContain("teardown v1");
    // And a version that works can still come.
    const good = serve("p", await adapterPackage("tickets", "v3"));
    expect((await server.request("PATCH", "/modules/tickets", { json: { url: good } })).body.updated).toBe(
      true,
    );
    expect(await tools()).toEqual({ "desk.ask": "v3", "desk.only_v3": "v3" });
  });

  test("a failure after the tools were made anew brings back the old folder and the old tools", async () => {
    const { server, serve, module, enable, directory } = await open();
    await server.post("/modules", { url: serve("p", await adapterPackage("tickets", "v1")) });
    await enable("tickets");
    await addService("desk");
    const before = await module("tickets");
    await server.pool`create function test_refuse() returns trigger language plpgsql as $$
      begin raise exception 'disk full'; end $$`;
    await server.pool`create trigger test_refuse before update on modules for each row
      when (new.version is distinct from old.version) execute function test_refuse()`;
    const url = serve("p", await adapterPackage("tickets", "v2"));
    expect((await server.request("PATCH", "/modules/tickets", { json: { url } })).status).toBe(500);
    await server.pool`drop trigger test_refuse on modules`;
    expect(await module("tickets")).toEqual(before);
    expect(await tools()).toEqual({ "desk.ask": "v1", "desk.only_v1": "v1" });
    expect(await folders(directory)).toEqual(["tickets"]);
    expect(await readFile(path.join(directory, "tickets", "version.mjs"), "utf8")).toContain("v1");
  });

  test("a package that is another module, or of another type, is refused", async () => {
    const { server, serve } = await open();
    await server.post("/modules", { url: serve("p", await adapterPackage("tickets", "v1")) });
    for (const bytes of [
      await adapterPackage("other", "v2"),
      await adapterPackage("tickets", "v2", { manifest: { type: "environment" } }),
    ]) {
      const answer = await server.request("PATCH", "/modules/tickets", { json: { url: serve("p", bytes) } });
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_package"]);
    }
  });

  test("a disabled adapter's code does not run for an update; its services get new tools when it is enabled", async () => {
    const { server, serve, enable } = await open();
    await server.post("/modules", { url: serve("p", await adapterPackage("tickets", "v1")) });
    await enable("tickets");
    await addService("desk");
    await enable("tickets", false);
    takeEvents();
    const url = serve("p", await adapterPackage("tickets", "v2"));
    expect((await server.request("PATCH", "/modules/tickets", { json: { url } })).body.updated).toBe(true);
    expect(takeEvents()).toEqual([]);
    expect(await tools()).toEqual({ "desk.ask": "v1", "desk.only_v1": "v1" });
    await enable("tickets");
    expect(await tools()).toEqual({ "desk.ask": "v2", "desk.only_v2": "v2" });
  });

  test("a module whose files are missing or broken is repaired by an update", async () => {
    const { server, serve, module, directory, enable } = await open();
    await server.post("/modules", { url: serve("p", await adapterPackage("tickets", "v1")) });
    await enable("tickets");
    await writeFile(path.join(directory, "tickets", "module.json"), "{");
    await server.post("/modules/reload");
    expect((await module("tickets")).error).toMatch(/not JSON/);
    const url = serve("p", await adapterPackage("tickets", "v2"));
    expect((await server.request("PATCH", "/modules/tickets", { json: { url } })).body.updated).toBe(true);
    expect(await module("tickets")).toMatchObject({ state: "active", error: null, version: "v2" });
    await rename(path.join(directory, "tickets"), path.join(directory, ".away"));
    await server.post("/modules/reload");
    expect(await module("tickets")).toMatchObject({ missing: true });
    expect((await server.request("PATCH", "/modules/tickets", { json: { url } })).body.updated).toBe(true);
    expect(await module("tickets")).toMatchObject({ missing: false, state: "active", version: "v2" });
  });

  test("files edited by hand are not taken for the package any more", async () => {
    const { server, serve, module, directory } = await open();
    const bytes = await adapterPackage("tickets", "v1");
    const url = serve("p", bytes);
    await server.post("/modules", { url });
    await writeFile(path.join(directory, "tickets", "version.mjs"), "export const version = 'mine';");
    await server.post("/modules/reload");
    expect((await module("tickets")).hash).not.toBe(sha256(bytes));
    expect((await server.request("PATCH", "/modules/tickets", { json: { url } })).body.updated).toBe(true);
    expect((await module("tickets")).hash).toBe(sha256(bytes));
  });
});

test("a run on a replaced environment keeps the files it was started with", async () => {
  const entries = (version: string) =>
    moduleEntries(
      { id: "slow", type: "environment", version },
      `import { readFile } from "node:fs/promises";
       export function instantiate() {
         let bindings;
         return {
           async setup(context) { bindings = context.bindings; },
           async teardown() {},
           async execute({ eid, code }) {
             bindings.setState(eid, "running");
             if (code === "wait") await globalThis.slowGate.promise;
             bindings.setResult(eid, await readFile(new URL("version.txt", import.meta.url), "utf8"));
             return "success";
           },
           async kill() {}, async generateDocs() { return ""; }, async generateToolDocs() { return ""; },
         };
       }`,
      [{ name: "version.txt", data: version }],
    );
  const { server, serve, enable, module } = await open({ environment: { CYRNEL_ISOLATION: "development" } });
  const gate = Promise.withResolvers<void>();
  (globalThis as { slowGate?: unknown }).slowGate = gate;
  await server.post("/modules", { url: serve("v1", await makePackage(entries("v1"))) });
  expect((await enable("slow")).status).toBe(200);
  const { body } = await server.post("/processes", { code: "wait" });
  const url = serve("v2", await makePackage(entries("v2")));
  expect((await server.request("PATCH", "/modules/slow", { json: { url } })).body.updated).toBe(true);
  expect((await server.post("/processes", { code: "now", block: true })).body.result).toBe("v2");
  gate.resolve();
  expect((await server.get(`/processes/${body.id}?wait=20000`)).body.result).toBe("v1");
  expect(await module("slow")).toMatchObject({ state: "active", version: "v2" });
});

describe("a server that ended in the middle of an update", () => {
  test.each(["between the two renames", "after the swap"])(
    "%s starts with the version before",
    async (moment) => {
      const { server, serve, module, enable, directory, restart, stop } = await open();
      await server.post("/modules", { url: serve("p", await adapterPackage("tickets", "v1")) });
      await enable("tickets");
      await addService("desk");
      const before = await module("tickets");
      // What an update does before anything is swapped, and what it may have done to the tools.
      await server.pool`update modules set definitions_due = true where id = 'tickets'`;
      await server.pool`update tools set adapter_domain = '"v2"'::json`;
      await stop();
      const at = (name: string) => path.join(directory, name);
      await rename(at("tickets"), at(".previous-tickets"));
      if (moment === "after the swap") await placeFiles(at("tickets"), adapterEntries("tickets", "v2"));
      await placeFiles(at(".staged-rubbish"), adapterEntries("tickets", "v2"));
      await placeFiles(at(".trash-rubbish"), adapterEntries("tickets", "v0"));
      await restart();
      expect(await module("tickets")).toEqual(before);
      expect(await folders(directory)).toEqual(["tickets"]);
      expect(await tools()).toEqual({ "desk.ask": "v1", "desk.only_v1": "v1" });
      expect(takeEvents()).toContain("hydrate v1 desk v1");
    },
  );
});

describe("delete", () => {
  test("takes the folder, the row, the settings, the services and what runs", async () => {
    const { server, serve, enable, directory, restart } = await open();
    await server.post("/modules", { url: serve("p", await adapterPackage("tickets", "v1")) });
    await enable("tickets");
    await addService("desk");
    takeEvents();
    expect((await server.request("DELETE", "/modules/tickets")).status).toBe(204);
    expect(takeEvents()).toContain("teardown v1");
    expect((await server.get("/modules/tickets")).status).toBe(404);
    expect((await server.get("/services/desk")).status).toBe(404);
    expect(await tools()).toEqual({});
    expect(await folders(directory)).toEqual([]);
    await restart();
    expect((await server.get("/modules/tickets").catch(() => ({ status: 404 }))).status).toBe(404);
    const url = serve("p", await adapterPackage("tickets", "v2"));
    expect((await (bench as ModulesBench).server.post("/modules", { url })).status).toBe(201);
  });

  test("a deletion that cannot be stored leaves the module as it was", async () => {
    const { server, serve, enable, directory, module } = await open();
    await server.post("/modules", { url: serve("p", await adapterPackage("tickets", "v1")) });
    await enable("tickets");
    await server.pool`create function test_refuse() returns trigger language plpgsql as $$
      begin raise exception 'disk full'; end $$`;
    await server.pool`create trigger test_refuse before delete on modules for each row execute function test_refuse()`;
    expect((await server.request("DELETE", "/modules/tickets")).status).toBe(500);
    expect(await folders(directory)).toEqual(["tickets"]);
    expect((await module("tickets")).state).toBe("active");
  });
});

test("many changes at once happen one after another, and the last word is one of theirs", async () => {
  const { server, serve, enable, module, directory } = await open();
  await server.post("/modules", { url: serve("v0", await adapterPackage("tickets", "v0")) });
  await enable("tickets");
  const urls = await Promise.all(
    [1, 2, 3].map(async (n) => serve(`v${n}`, await adapterPackage("tickets", `v${n}`))),
  );
  const answers = await Promise.all([
    ...urls.map((url) => server.request("PATCH", "/modules/tickets", { json: { url } })),
    server.post("/modules/reload"),
    enable("tickets", false),
    enable("tickets", true),
    server.post("/modules", { url: urls[0] }),
  ]);
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200, 200, 200, 409]);
  const record = await module("tickets");
  expect(record).toMatchObject({ enabled: true, state: "active", error: null });
  expect(await readFile(path.join(directory, "tickets", "version.mjs"), "utf8")).toContain(
    String(record.version),
  );
  expect(await folders(directory)).toEqual(["tickets"]);
});
