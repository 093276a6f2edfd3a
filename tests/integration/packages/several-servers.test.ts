/** Servers that share a database and install the same at the same time, and one that dies while it installs. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { startMain } from "../harness/main-process.ts";
import { until } from "../processes-server.ts";
import { type FrontedRegistry, type Registry, startFront, startRegistry } from "./registry.ts";
import { type PackagesServer, startPackagesServer } from "./server.ts";

let registry: Registry;
let fronted: FrontedRegistry;
let database: TestDatabase;
let servers: PackagesServer[];

beforeAll(async () => {
  registry = await startRegistry();
  fronted = await startFront(registry);
  database = await createTestDatabase({ maxConnections: 40 });
  servers = [];
  for (let count = 0; count < 3; count++) {
    servers.push(await startPackagesServer(fronted.url, {}, { database }));
  }
});
afterAll(async () => {
  // None may have a connection left when the last one stops.
  await Promise.all((servers ?? []).map((one) => one.server.server.stop()));
  for (const one of servers ?? []) await one[Symbol.asyncDispose]();
  await database?.drop();
  await fronted?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  fronted.front = () => false;
});

describe("at the same time", () => {
  test("what is asked for in the same words is one installation", async () => {
    await registry.publish({ name: "at-once" });
    const asked = await Promise.all(
      servers.flatMap(({ server }) => [1, 2].map(() => server.post("/packages", { name: "at-once" }))),
    );
    expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(asked.map(({ body }) => body.id)).size).toBe(1);
    const id = asked[0]?.body.id;
    for (const { server } of servers) {
      const ended = await until("it is over", async () => {
        const { body } = await server.get(`/package-installations/${id}`);
        return body.state !== "running" && body;
      });
      expect(ended).toMatchObject({ state: "done", version: "1.0.0", error: null });
    }
    expect(await database.pool`select 1 from packages where name = 'at-once'`).toHaveLength(1);
  });

  test("what is asked for in different words is one package, and each installation ends well", async () => {
    await registry.publish({ name: "same-dependency" });
    await registry.publish({ name: "same", manifest: { dependencies: { "same-dependency": "1" } } });
    const words = [
      {},
      { version: "1.0.0" },
      { range: "^1.0.0" },
      { range: "1" },
      { range: "*" },
      { range: ">=1" },
    ];
    // Held back until all have come as far as the tarball.
    const held: (() => void)[] = [];
    fronted.front = async ({ url }) => {
      if (url !== "/same/-/same-1.0.0.tgz") return false;
      await new Promise<void>((go) => {
        held.push(go);
        if (held.length === servers.length) for (const one of held) one();
        else if (held.length > servers.length) go();
      });
      return false;
    };
    const ended = await Promise.all(
      words.map((more, index) => (servers[index % servers.length] as PackagesServer).install("same", more)),
    );
    expect(ended.map(({ state, version, error }) => [state, version, error])).toEqual(
      words.map(() => ["done", "1.0.0", null]),
    );
    expect(held.length).toBeGreaterThanOrEqual(servers.length);
    const records = await Promise.all(servers.map((one) => one.get("/packages/same/1.0.0")));
    expect(new Set(records.map(({ text }) => text)).size).toBe(1);
    expect(await database.pool`select 1 from packages where name = 'same'`).toHaveLength(1);
    for (const one of servers) {
      const run = await one.run('import { ok } from "same"; return ok');
      expect([run.error ?? null, run.result]).toEqual([null, true]);
    }
  });

  test("installed here and removed there, again and again, it is there or not, never in between", async () => {
    await registry.publish({ name: "contended" });
    const [one, two] = servers as [PackagesServer, PackagesServer];
    for (let turn = 0; turn < 3; turn++) {
      const [installed] = await Promise.all([
        one.install("contended", { version: "1.0.0" }),
        two.server.request("DELETE", "/packages/contended/1.0.0"),
      ]);
      expect(installed).toMatchObject({ state: "done", error: null });
      const { status } = await two.get("/packages/contended/1.0.0");
      const run = await two.run('import { ok } from "contended"; return ok');
      expect([status, run.result ?? null]).toEqual(status === 200 ? [200, true] : [404, null]);
    }
  });
});

test("of a server that has died, an installation is given up when it is asked about, and can be repeated", async () => {
  await registry.publish({ name: "orphaned" });
  const folder = await mkdtemp(path.join(tmpdir(), "cyrnel-dies-"));
  const main = startMain({
    environment: {
      DATABASE_URL: database.url,
      CYRNEL_DATA_DIR: folder,
      CYRNEL_NPM_REGISTRY: fronted.url,
      CYRNEL_EGRESS_ALLOW: "127.0.0.1",
      CYRNEL_PACKAGE_MIN_AGE_DAYS: "0",
      CYRNEL_PACKAGE_ADVISORIES: "off",
    },
  });
  try {
    const url = await main.listening();
    let isAsked = false;
    fronted.front = (request) => {
      if (request.url !== "/orphaned") return false;
      isAsked = true;
      return true;
    };
    const asked = await fetch(`${url}/packages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "orphaned" }),
    });
    const { id } = (await asked.json()) as { id: string };
    await until("the registry is asked", async () => isAsked);
    main.child.kill("SIGKILL");
    await main.ended();
    fronted.front = () => false;

    const { server, install } = servers[0] as PackagesServer;
    // So far nobody can tell that it is gone.
    expect((await server.post("/packages", { name: "orphaned" })).body).toMatchObject({
      id,
      state: "running",
    });
    await database.pool`
      update package_installations set touched_at = touched_at - interval '3 minutes' where id = ${id}`;
    expect((await server.get(`/package-installations/${id}`)).body).toMatchObject({
      state: "failed",
      error: "The server that installed it has gone.",
      completedAt: expect.any(String),
    });
    const again = await install("orphaned");
    expect(again).toMatchObject({ state: "done", version: "1.0.0", error: null });
    expect(again.id).not.toBe(id);

    // Without having been asked about, the same.
    await database.pool`
      update package_installations set state = 'running', completed_at = null, error = null,
        touched_at = now() - interval '3 minutes' where id = ${id}`;
    const third = await install("orphaned");
    expect([third.state, third.id === id]).toEqual(["done", false]);
    expect((await server.get(`/package-installations/${id}`)).body.state).toBe("failed");
  } finally {
    main.child.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  }
});
