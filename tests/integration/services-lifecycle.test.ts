import { createHash } from "node:crypto";
import { zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createHydration } from "#api/components/services/lifecycle/hydration.ts";
import type { EnvironmentBindings } from "#sdk";
import { createTestDatabase } from "./harness/database.ts";
import { until } from "./processes-server.ts";
import { define, ScriptedAdapter } from "./scripted-adapter.ts";
import { type ServicesServer, serveFiles, startServicesServer } from "./services-server.ts";

let server: ServicesServer;
beforeAll(async () => {
  server = await startServicesServer();
});
afterAll(() => server?.close());

const ID = "shop";
beforeEach(async () => {
  const { adapter } = server;
  adapter.refuse = () => null;
  adapter.beforeHydrate = async () => {};
  adapter.beforeDehydrate = async () => {};
  adapter.beforeGenerate = async () => {};
  adapter.rewrite = (made) => made;
  for (const { id } of await server.pool`select id from services`)
    await server.request("DELETE", `/services/${id}`);
  await server.install(ID, { name: "First", tools: ["a", "b", "c"] });
  adapter.events.length = 0;
});

const change = (definition: Parameters<typeof define>[0]) =>
  server.patch(`/services/${ID}`, { content: define(definition) });
const flags = async () =>
  Object.fromEntries((await server.tools(ID)).map(({ id, enabled }) => [id, enabled]));
/** What a service is, whole: to see that nothing of it changed. */
const snapshot = async () => [
  await server.pool`select * from services where id = ${ID}`,
  await server.pool`select * from tools where service_id = ${ID} order by position`,
  await server.pool`select * from service_settings where service_id = ${ID}`,
  await server.pool`select * from secrets where owner_id = ${ID}`,
  server.adapter.held.get(ID),
];

test("an operationFilter is refused for an adapter that knows none, and nothing is installed", async () => {
  const body = { id: "filtered", adapter: "scripted", content: define({}), operationFilter: ["a"] };
  const answer = await server.post("/services", body);
  expect([answer.status, answer.body.code, answer.body.issues?.[0]?.path]).toEqual([
    400,
    "invalid_request",
    "body.operationFilter",
  ]);
  expect((await server.get("/services/filtered")).status).toBe(404);
});

describe("enabling and disabling", () => {
  test("hands the service to its adapter and takes it back; both can be repeated", async () => {
    expect((await server.enable(ID)).body).toEqual({ id: ID, enabled: true });
    expect((await server.enable(ID)).status).toBe(200);
    expect(await server.service(ID)).toMatchObject({ enabled: true, effectivelyEnabled: true });
    expect(server.adapter.held.get(ID)).toEqual({
      id: ID,
      adapterDomain: { of: "First" },
      tools: {
        a: { adapterDomain: { path: "/a" } },
        b: { adapterDomain: { path: "/b" } },
        c: { adapterDomain: { path: "/c" } },
      },
      config: {},
      secrets: {},
    });
    expect((await server.enable(ID, false)).body).toEqual({ id: ID, enabled: false });
    expect((await server.enable(ID, false)).status).toBe(200);
    expect(server.adapter.held.size).toBe(0);
    expect(server.adapter.events.filter((event) => event.startsWith("hydrate"))).toHaveLength(1);
  });

  test("a service that the adapter cannot take on stays disabled, with the adapter's message", async () => {
    server.adapter.refuse = () => "The endpoint does not answer.";
    const answer = await server.enable(ID);
    expect([answer.status, answer.body.code]).toEqual([502, "service_failed"]);
    expect(answer.body.error).toContain("The endpoint does not answer.");
    expect(await server.service(ID)).toMatchObject({
      enabled: false,
      effectivelyEnabled: false,
      error: "The endpoint does not answer.",
    });
    expect(server.adapter.events).toEqual([`hydrate ${ID}`, `dehydrate ${ID}`]);
    server.adapter.refuse = () => null;
    expect((await server.enable(ID)).status).toBe(200);
    expect((await server.service(ID)).error).toBeNull();
  });

  test("an adapter that throws what cannot be read is told of without it", async () => {
    server.adapter.refuse = () => {
      const refuse = () => {
        throw new Error("do not look at me");
      };
      throw new Proxy(new Error("x"), { get: refuse, getPrototypeOf: refuse, has: refuse });
    };
    const answer = await server.enable(ID);
    expect([answer.status, answer.body.code]).toEqual([502, "service_failed"]);
    expect((await server.service(ID)).error).toBe("It gave no reason.");
    server.adapter.refuse = () => null;
    expect((await server.enable(ID)).status).toBe(200);
  });

  test("is refused while the adapter is not active; then its services are not effectively enabled", async () => {
    await server.enable(ID);
    await server.post("/modules/scripted/enabled", { enabled: false });
    try {
      expect(await server.service(ID)).toMatchObject({ enabled: true, effectivelyEnabled: false });
      await server.enable(ID, false);
      const answer = await server.enable(ID);
      expect([answer.status, answer.body.code]).toEqual([409, "adapter_inactive"]);
      for (const [method, path, json] of [
        ["PATCH", "", { content: "{}" }],
        ["POST", "/sync", {}],
      ] as const) {
        const refused = await server.request(method, `/services/${ID}${path}`, { json });
        expect([refused.status, refused.body.code]).toEqual([409, "adapter_inactive"]);
      }
    } finally {
      await server.post("/modules/scripted/enabled", { enabled: true });
    }
  });

  test("services that are enabled come back with their adapter, with what was changed in the meantime", async () => {
    await server.enable(ID);
    await server.post("/modules/scripted/enabled", { enabled: false });
    expect(server.adapter.held.size).toBe(0);
    expect((await server.patch(`/services/${ID}/config`, [{ op: "add", path: "/x", value: 1 }])).status).toBe(
      200,
    );
    await server.post("/modules/scripted/enabled", { enabled: true });
    expect(server.adapter.held.get(ID)?.config).toEqual({ x: 1 });
    expect((await server.service(ID)).effectivelyEnabled).toBe(true);
  });
});

describe("a service that its adapter does not take when it comes back", () => {
  const REASON = "The endpoint does not answer.";
  const switchAdapter = (enabled: boolean) => server.post("/modules/scripted/enabled", { enabled });
  const ask = async (bindings: EnvironmentBindings) => ({
    services: (await bindings.discoverServices()).map(({ id }) => id),
    tools: (await bindings.discoverTools()).map(({ path }) => path),
    found: (await bindings.discoverTools({ query: "tool" })).length,
    own: (await bindings.getService(ID)).tools.length,
  });
  beforeEach(async () => {
    await server.enable(ID);
    await switchAdapter(false);
    server.adapter.refuse = ({ id }) => (id === ID ? REASON : null);
  });

  test("is not effectively enabled, nor are its tools, which say why; nothing of it is found", async () => {
    expect((await switchAdapter(true)).status).toBe(200);
    await server.install("fine", { tools: ["x"] });
    await server.enable("fine");
    expect(await server.service(ID)).toMatchObject({
      enabled: true,
      effectivelyEnabled: false,
      error: REASON,
    });
    const { body: listed } = await server.get(`/tools?serviceId=${ID}`);
    const { body: ranked } = await server.get(`/tools?serviceId=${ID}&query=tool`);
    const { body: one } = await server.get(`/tools/${ID}/a`);
    for (const tool of [...listed.tools, ...ranked.tools, one]) {
      expect(tool).toMatchObject({ enabled: true, effectivelyEnabled: false });
    }
    expect([listed.tools.length, ranked.tools.length]).toEqual([3, 3]);
    const called = await server.post(`/tools/${ID}/a/invoke`);
    expect([called.status, called.body.code]).toEqual([502, "service_failed"]);
    expect(called.body.error).toContain(REASON);
    expect(server.adapter.held.has(ID)).toBe(false);
    expect((await server.get("/tools/types.d.ts")).text).not.toContain(ID);
    expect(await ask(server.environment.bindings)).toEqual({
      services: ["fine"],
      tools: ["fine.x"],
      found: 1,
      own: 0,
    });
    expect((await server.post("/tools/fine/x/invoke")).status).toBe(200);
  });

  test("works again once it is enabled again, or its settings are mended", async () => {
    for (const mend of [
      () => server.enable(ID),
      () => server.patch(`/services/${ID}/config`, [{ op: "add", path: "/x", value: 1 }]),
    ]) {
      server.adapter.refuse = () => REASON;
      await switchAdapter(false);
      await switchAdapter(true);
      expect((await server.service(ID)).effectivelyEnabled).toBe(false);
      server.adapter.refuse = () => null;
      expect((await mend()).status).toBe(200);
      expect(await server.service(ID)).toMatchObject({ effectivelyEnabled: true, error: null });
      expect((await server.post(`/tools/${ID}/a/invoke`)).status).toBe(200);
    }
  });
});

describe("another definition", () => {
  test("the same one changes nothing", async () => {
    const answer = await change({ name: "First", tools: ["a", "b", "c"] });
    expect([answer.status, answer.body]).toEqual([200, { id: ID, updated: false }]);
    expect(server.adapter.events).toEqual([]);
  });

  test("of a disabled service: tools that stay keep their flag, new ones are enabled, vanished ones go", async () => {
    await server.pool`update tools set enabled = false where service_id = ${ID} and id = 'b'`;
    const answer = await change({ name: "Second", tools: ["d", "b", "a"] });
    expect([answer.status, answer.body]).toEqual([200, { id: ID, updated: true }]);
    expect(await flags()).toEqual({ d: true, b: false, a: true });
    expect((await server.tools(ID)).map(({ id }) => id)).toEqual(["d", "b", "a"]);
    expect(await server.service(ID)).toMatchObject({ name: "Second", enabled: false });
    expect(server.adapter.events).toEqual(["generate"]);
  });

  test("of an enabled service: new tools start disabled, and the adapter lets go of the old ones first", async () => {
    await server.enable(ID);
    server.adapter.events.length = 0;
    expect((await change({ name: "Second", tools: ["a", "d"], adapterDomain: 7 })).status).toBe(200);
    expect(await flags()).toEqual({ a: true, d: false });
    expect(server.adapter.events).toEqual(["generate", `dehydrate ${ID}`, `hydrate ${ID}`]);
    expect(server.adapter.held.get(ID)).toMatchObject({
      adapterDomain: 7,
      tools: { a: { adapterDomain: { path: "/a" } }, d: { adapterDomain: { path: "/d" } } },
    });
  });

  test("that the adapter refuses to make, or to take on, leaves everything as it was", async () => {
    await server.enable(ID);
    const before = await snapshot();
    expect((await change({ refuse: "no" })).body.code).toBe("invalid_definition");
    expect((await change({ tools: ["a", "a"] })).body.code).toBe("invalid_definition");
    server.adapter.refuse = ({ adapterDomain }) => (adapterDomain === 13 ? "bad luck" : null);
    const answer = await change({ adapterDomain: 13, tools: ["x"] });
    expect([answer.status, answer.body.code]).toEqual([502, "service_failed"]);
    expect(await snapshot()).toEqual(before);
    expect((await server.service(ID)).effectivelyEnabled).toBe(true);
  });

  test("that the database refuses leaves everything as it was, in the adapter too", async () => {
    await server.enable(ID);
    const before = await snapshot();
    await server.pool`alter table tools add constraint planted check (name <> 'Tool z')`;
    try {
      expect((await change({ tools: ["a", "z"] })).status).toBe(500);
    } finally {
      await server.pool`alter table tools drop constraint planted`;
    }
    expect(await snapshot()).toEqual(before);
  });

  test("changes of one service at once happen one after another, each whole", async () => {
    await server.enable(ID);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => change({ name: `N${index}`, tools: [`only${index}`] })),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const { name } = await server.service(ID);
    const index = name.slice(1);
    expect(Object.keys(await flags())).toEqual([`only${index}`]);
    expect(Object.keys(server.adapter.held.get(ID)?.tools ?? {})).toEqual([`only${index}`]);
  });

  test("a queue of changes has an end: one too many is told to come back", async () => {
    const gate = Promise.withResolvers<void>();
    server.adapter.beforeGenerate = () => gate.promise;
    const answers = Array.from({ length: 25 }, (_, index) => change({ name: `N${index}` }));
    const refused = await Promise.race(answers);
    expect([refused.status, refused.body.code, refused.headers.get("retry-after")]).toEqual([
      429,
      "rate_limited",
      "5",
    ]);
    gate.resolve();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  });

  test("sync makes the tools anew of what is stored", async () => {
    server.adapter.rewrite = (made) => ({ ...made, name: "Listed now", tools: made.tools.slice(0, 2) });
    const answer = await server.post(`/services/${ID}/sync`);
    expect([answer.status, answer.body]).toEqual([200, { id: ID, updated: true }]);
    expect(await server.service(ID)).toMatchObject({ name: "Listed now" });
    expect(Object.keys(await flags())).toEqual(["a", "b"]);
  });

  test("update takes what the registry has now, if it has the hash that it says", async () => {
    const direct = await server.post(`/services/${ID}/update`);
    expect([direct.status, direct.body.code]).toEqual([409, "no_source"]);
    const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
    const versions = [define({ name: "V1" }), define({ name: "V2" })];
    let version = 0;
    let promised: string | undefined;
    await using files = await serveFiles({
      "/entry": (_, response) =>
        void response.end(
          JSON.stringify({ downloadUrl: "/spec", hash: promised, id: "kept", adapter: "scripted" }),
        ),
      "/spec": (_, response) => void response.end(versions[version]),
    });
    await server.post("/services/install", { source: `${files.url}/entry` });
    const update = () => server.post("/services/kept/update");
    expect((await update()).body).toEqual({ id: "kept", updated: false });
    version = 1;
    promised = sha256("forged");
    expect((await update()).body.code).toBe("hash_mismatch");
    expect((await server.service("kept")).name).toBe("V1");
    promised = sha256(versions[1] ?? "");
    expect((await update()).body).toEqual({ id: "kept", updated: true });
    expect(await server.service("kept")).toMatchObject({
      name: "V2",
      hash: promised,
      source: `${files.url}/entry`,
    });
    expect((await update()).body).toEqual({ id: "kept", updated: false });
  });
});

describe("deleting", () => {
  test("takes the service from its adapter first, then removes all of it", async () => {
    await server.enable(ID);
    const seen: number[] = [];
    server.adapter.beforeDehydrate = async () => {
      seen.push((await server.pool`select from services where id = ${ID}`).length);
    };
    expect((await server.request("DELETE", `/services/${ID}`)).status).toBe(204);
    expect(seen).toEqual([1]);
    expect(await server.pool`select from tools where service_id = ${ID}`).toHaveLength(0);
    expect((await server.get(`/services/${ID}`)).status).toBe(404);
  });

  test("works although the adapter cannot let go", async () => {
    await server.enable(ID);
    server.adapter.beforeDehydrate = async () => {
      throw new Error("cannot let go");
    };
    expect((await server.request("DELETE", `/services/${ID}`)).status).toBe(204);
    expect(server.adapter.events).toContain(`dehydrate ${ID}`);
  });
});

describe("services and their adapter", () => {
  test("start-up hands over every enabled service at once; a bad one gets its error, the others work", async () => {
    await using database = await createTestDatabase({ maxConnections: 10 });
    const first = await startServicesServer({ database });
    for (const id of ["good", "bad", "off", "slow"]) {
      await first.install(id);
      if (id !== "off") await first.enable(id);
    }
    await first.close();
    const adapter = new ScriptedAdapter();
    const both = Promise.withResolvers<void>();
    const waiting = new Set<string>();
    // Each waits until all have been asked: one after the other would never end.
    adapter.beforeHydrate = async ({ id }) => {
      waiting.add(id);
      if (waiting.size === 3) both.resolve();
      await both.promise;
    };
    adapter.refuse = ({ id }) => (id === "bad" ? "Its certificate has expired." : null);
    await using second = await startServicesServer({ database, adapter });
    expect([...adapter.held.keys()].sort()).toEqual(["good", "slow"]);
    expect(await second.service("bad")).toMatchObject({
      enabled: true,
      error: "Its certificate has expired.",
    });
    expect(await second.service("good")).toMatchObject({
      enabled: true,
      effectivelyEnabled: true,
      error: null,
    });
    expect((await second.get("/health/ready")).status).toBe(200);
    adapter.refuse = () => null;
    expect((await second.enable("bad")).status).toBe(200);
    expect((await second.service("bad")).error).toBeNull();
  });

  test("a new version makes all services anew: what fails is stale until it is repaired, the rest go on", async () => {
    await server.install("fine", { tools: ["a"] });
    await server.install("broken", { tools: ["a"] });
    for (const id of ["fine", "broken"]) await server.enable(id);
    server.adapter.rewrite = (made) => {
      if (made.name === "A service" && (made.tools[0]?.id ?? "") === "a") {
        return { ...made, tools: [...made.tools, { ...made.tools[0], id: "added" }] };
      }
      return made;
    };
    await server.pool`update services set definition = ${zstdCompressSync(define({ refuse: "Unknown version." }))} where id = 'broken'`;
    const { stale } = await server.server.services.link.regenerateAll("scripted");
    expect(stale).toEqual(["broken"]);
    expect(await server.service("broken")).toMatchObject({
      stale: true,
      enabled: true,
      effectivelyEnabled: false,
      error: expect.stringContaining("Unknown version."),
    });
    expect(server.adapter.held.has("broken")).toBe(false);
    expect(await server.service("fine")).toMatchObject({ stale: false, effectivelyEnabled: true });
    expect((await server.tools("fine")).map(({ id, enabled }) => [id, enabled])).toEqual([
      ["a", true],
      ["added", false],
    ]);
    const enabling = await server.enable("broken");
    expect([enabling.status, enabling.body.code]).toEqual([409, "service_stale"]);
    expect(
      (await server.get("/services?stale=true")).body.services.map(({ id }: { id: string }) => id),
    ).toEqual(["broken"]);
    // Its settings can still be changed; its adapter is not asked.
    expect(
      (await server.patch("/services/broken/config", [{ op: "add", path: "/x", value: 1 }])).status,
    ).toBe(200);
    expect((await server.patch("/services/broken", { content: define({ tools: ["new"] }) })).status).toBe(
      200,
    );
    expect(await server.service("broken")).toMatchObject({
      stale: false,
      effectivelyEnabled: true,
      error: null,
    });
    expect(server.adapter.held.get("broken")).toMatchObject({ config: { x: 1 }, tools: { new: {} } });
  });

  test("an adapter that takes a service too late does not keep what was given up", async () => {
    const adapter = new ScriptedAdapter();
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const hydration = createHydration({
      logger,
      watch: { setOwner() {}, dropOwner() {}, text: (text) => text, cut: (text) => text },
      limits: { maxHydrateMs: 50, maxDehydrateMs: 50 },
    });
    const state = (version: number) => ({
      id: "late",
      adapterDomain: version,
      tools: {},
      config: {},
      secrets: {},
    });
    const gate = Promise.withResolvers<void>();
    adapter.beforeHydrate = ({ adapterDomain }) => (adapterDomain === 1 ? gate.promise : Promise.resolve());
    await hydration.hydrate(adapter, state(0));
    await expect(hydration.hydrate(adapter, state(1))).rejects.toThrow("50 ms");
    await hydration.hydrate(adapter, state(2));
    gate.resolve();
    await until("the late state is replaced", () => adapter.handed.length === 4);
    expect(adapter.held.get("late")?.adapterDomain).toBe(2);
    await hydration.dehydrate("late", adapter);
    expect(adapter.held.size).toBe(0);
  });

  test("removing an adapter's services takes settings and secrets with them", async () => {
    await server.install("second", {});
    await server.enable("second");
    await server.patch("/services/second/secrets", [{ op: "add", path: "/a", value: "some-secret-value" }]);
    await server.server.services.link.removeAll("scripted");
    expect((await server.get("/services")).body.services).toEqual([]);
    for (const table of ["services", "tools", "service_settings", "secrets"]) {
      expect(await server.pool`select from ${server.pool(table)}`).toHaveLength(0);
    }
    expect(server.adapter.held.size).toBe(0);
  });

  test("a change that meets a restart of the adapter ends up in the new instance", async () => {
    await server.enable(ID);
    const restart = async () => {
      await server.post("/modules/scripted/enabled", { enabled: false });
      await server.post("/modules/scripted/enabled", { enabled: true });
    };
    for (let round = 0; round < 10; round += 1) {
      const [, , answer] = await Promise.all([
        restart(),
        server.patch(`/services/${ID}/config`, [{ op: "add", path: "/round", value: round }]),
        change({ name: `R${round}`, tools: [`t${round}`], adapterDomain: round }),
      ]);
      expect([200, 409]).toContain(answer.status);
      const { name } = await server.service(ID);
      const [row] = await server.pool`select adapter_domain as domain from services where id = ${ID}`;
      expect(server.adapter.held.get(ID)).toMatchObject({ adapterDomain: row?.domain, config: { round } });
      expect(typeof name).toBe("string");
    }
  });
});

describe("the list", () => {
  test("newest first, by pages that fit together, and by filters", async () => {
    for (let index = 0; index < 5; index += 1) await server.install(`s${index}`, { name: `Nr ${index}` });
    await server.enable("s1");
    const ids = (body: { services: { id: string }[] }) => body.services.map(({ id }) => id);
    expect(ids((await server.get("/services")).body)).toEqual(["s4", "s3", "s2", "s1", "s0", ID]);
    const first = (await server.get("/services?limit=4")).body;
    expect(ids(first)).toEqual(["s4", "s3", "s2", "s1"]);
    const second = (await server.get(`/services?limit=4&cursor=${first.nextCursor}`)).body;
    expect([ids(second), second.nextCursor]).toEqual([["s0", ID], null]);
    expect(ids((await server.get("/services?enabled=true")).body)).toEqual(["s1"]);
    expect(ids((await server.get("/services?query=NR%203")).body)).toEqual(["s3"]);
    expect(ids((await server.get("/services?adapter=scripted&enabled=false&query=s4")).body)).toEqual(["s4"]);
    expect(ids((await server.get("/services?adapter=other")).body)).toEqual([]);
    expect((await server.get("/services?cursor=made-up")).body.code).toBe("invalid_cursor");
    for (const query of ["enabled=maybe", "limit=0", "limit=201", "unknown=1", "query=%00"]) {
      expect([query, (await server.get(`/services?${query}`)).body.code]).toEqual([query, "invalid_request"]);
    }
  });
});
