/** The server's own process ended by a module, or killed in the middle of an update: the next start goes round it. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ModuleRecord } from "#api/components/modules/model.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type MainProcess, startMain } from "../harness/main-process.ts";
import { adapterEntries, adapterPackage, placeFiles } from "./bench.ts";

let data: string;
let database: TestDatabase;
let main: MainProcess | null = null;

beforeEach(async () => {
  data = await mkdtemp(path.join(tmpdir(), "cyrnel-crash-"));
  database = await createTestDatabase({ maxConnections: 5 });
});
afterEach(async () => {
  if (main !== null && main.child.exitCode === null) main.child.kill("SIGKILL");
  await main?.ended();
  main = null;
  await database.drop();
  await rm(data, { recursive: true, force: true });
});

function start(): MainProcess {
  main = startMain({
    environment: {
      CYRNEL_DATA_DIR: data,
      DATABASE_URL: database.url,
      CYRNEL_EGRESS_ALLOW: "127.0.0.1",
      CYRNEL_ISOLATION: "development",
    },
  });
  return main;
}

async function ask<T>(url: string, method: string, route: string, body?: unknown): Promise<T> {
  const response = await fetch(url + route, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  return (await response.json()) as T;
}

test("a module that ends the process at its import stops two starts and not a third", async () => {
  const folder = path.join(data, "modules", "fatal");
  await placeFiles(folder, adapterEntries("fatal", "v1"));
  await placeFiles(path.join(data, "modules", "fine"), adapterEntries("fine", "v1"));
  const first = start();
  const url = await first.listening();
  for (const id of ["fatal", "fine"]) await ask(url, "POST", `/modules/${id}/enabled`, { enabled: true });
  first.child.kill("SIGTERM");
  expect(await first.ended()).toBe(0);

  await writeFile(path.join(folder, "version.mjs"), "export const version = 'v2'; process.exit(7);");
  for (const _ of [1, 2]) expect(await start().ended()).toBe(7);
  const third = await start().listening();
  expect(await ask<ModuleRecord>(third, "GET", "/modules/fatal")).toMatchObject({
    enabled: true,
    state: "inactive",
    error: expect.stringContaining(
      "The last 2 starts of the server ended while this module was being activated",
    ),
  });
  expect((await ask<ModuleRecord>(third, "GET", "/modules/fine")).state).toBe("active");

  await writeFile(path.join(folder, "version.mjs"), "export const version = 'v3';");
  await ask(third, "POST", "/modules/reload");
  expect(await ask<ModuleRecord>(third, "GET", "/modules/fatal")).toMatchObject({
    state: "active",
    error: null,
  });
  expect(
    (await readdir(path.join(data, "modules"))).filter((name) => name.startsWith(".activating")),
  ).toEqual([]);
}, 120_000);

test("a server killed while an update is under way comes back with the version before", async () => {
  await placeFiles(path.join(data, "modules", "tickets"), adapterEntries("tickets", "v1"));
  const slow = await adapterPackage("tickets", "v2", {
    body: "adapter.setup = () => { console.error('v2 is being set up'); return new Promise(() => {}); };",
  });
  const web = createServer((_request, response) => response.end(slow)).listen(0, "127.0.0.1");
  await new Promise((resolve) => web.once("listening", resolve));
  try {
    const first = start();
    const url = await first.listening();
    await ask(url, "POST", "/modules/tickets/enabled", { enabled: true });
    const before = await ask<ModuleRecord>(url, "GET", "/modules/tickets");
    expect(before.state).toBe("active");
    const patching = ask(url, "PATCH", "/modules/tickets", {
      url: `http://127.0.0.1:${(web.address() as AddressInfo).port}/p`,
    }).catch(() => null);
    await expect.poll(() => first.stderr(), { timeout: 20_000 }).toContain("v2 is being set up");
    // The new files are in place, the old ones aside.
    expect(await readFile(path.join(data, "modules/tickets/version.mjs"), "utf8")).toContain("v2");
    first.child.kill("SIGKILL");
    await first.ended();
    await patching;

    const again = await start().listening();
    expect(await ask<ModuleRecord>(again, "GET", "/modules/tickets")).toEqual(before);
    expect(await readFile(path.join(data, "modules/tickets/version.mjs"), "utf8")).toContain("v1");
    const left = (await readdir(path.join(data, "modules"))).filter((name) => !name.startsWith(".loaded-"));
    expect(left).toEqual(["tickets"]);
  } finally {
    web.closeAllConnections();
    web.close();
  }
}, 120_000);
