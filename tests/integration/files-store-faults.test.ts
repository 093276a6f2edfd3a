/**
 * An object store that is silent, fails, breaks off or hands back other bytes: nothing waits for it without an end, it holds no
 * slot, and no wrong byte passes for what was stored.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createBucket } from "#api/files/contents/bucket.ts";
import { type ObjectStore, startObjectStore } from "./harness/object-store.ts";
import { startServer, type TestServer } from "./harness/server.ts";

/** Of a store that is well, one takes some milliseconds, and on a slow machine some hundred. */
const ATTEMPT_TIMEOUT_MS = 3000;
/** A piece that is read of a bucket at once has 4 MiB. */
const LARGE_BYTES = 6 * 1024 * 1024;
/** What takes longer was not cut short: a silent store would be waited for as long as the test. */
const SOON = { timeout: 40_000, interval: 50 };
const WRITES = 'await cyrnel.files.write("left.txt", String(Math.random())); return "wrote"';
let store: ObjectStore;
let server: TestServer;

beforeAll(async () => {
  store = await startObjectStore("files");
  // The client library reads them in this process.
  Object.assign(process.env, store.environment);
  server = await start();
});
afterEach(() => store.behave("well"));
afterAll(async () => {
  await server?.close();
  for (const name of Object.keys(store.environment)) delete process.env[name];
  await store[Symbol.asyncDispose]();
});

function start(options: Parameters<typeof startServer>[0] = {}): Promise<TestServer> {
  return startServer({
    ...options,
    environment: {
      CYRNEL_OBJECT_STORE: "s3://files/faults",
      CYRNEL_OBJECT_STORE_TIMEOUT_MS: String(ATTEMPT_TIMEOUT_MS),
    },
  });
}

const upload = (bytes: Uint8Array, to = server) =>
  to.request("POST", "/files", { body: bytes, headers: { "content-type": "application/octet-stream" } });
const submit = async (code: string, more: object = {}, to = server) =>
  (await to.post("/processes", { code, ...more })).body as { id: number; state: string };
const read = async (id: number, to = server) => (await to.get(`/processes/${id}`)).body;
const content = (id: string) => fetch(`${server.url}/files/${id}/content`);

async function metric(name: string): Promise<string | undefined> {
  const { text } = await server.get("/metrics");
  return text
    .split("\n")
    .find((line) => line.startsWith(`${name} `))
    ?.split(" ")[1];
}

describe.each(["silent", "failing"] as const)("a store that is %s", (how) => {
  test("is told to who uploads and downloads, soon", async () => {
    const { body } = await upload(randomBytes(100));
    store.behave(how);
    const refused = await upload(randomBytes(100));
    expect([refused.status, refused.body.code]).toEqual([503, "storage_unavailable"]);
    expect(refused.headers.get("retry-after")).not.toBeNull();
    expect((await content(body.id)).status).toBe(503);
    store.behave("well");
    expect((await content(body.id)).status).toBe(200);
  });

  test("holds no slot while files of runs wait for it, and a kill ends them", async () => {
    const { body: environment } = await server.get("/environment");
    const { slots } = environment.capacity;
    store.behave(how);
    const before = store.spoiled;
    const waiting = await Promise.all(Array.from({ length: slots }, () => submit(WRITES)));
    await expect.poll(() => store.spoiled, SOON).toBeGreaterThanOrEqual(before + slots);
    const plain = await server.post("/processes", { code: "return 1", block: true });
    expect(plain.body).toMatchObject({ state: "idle", exitState: "success" });
    expect((await read(waiting[0]?.id as number)).state).toBe("running");
    await expect.poll(() => metric("cyrnel_slots_busy"), SOON).toBe("0");
    for (const { id } of waiting)
      expect((await server.post(`/processes/${id}/signals/kill`)).status).toBe(200);
    for (const { id } of waiting) {
      await expect.poll(async () => (await read(id)).state, SOON).toBe("idle");
      expect(await read(id)).toMatchObject({ exitState: "canceled", reason: "killed", artifacts: [] });
    }
  });

  test("keeps no server from its end", async () => {
    const another = await start();
    store.behave(how);
    const { id } = await submit(WRITES, {}, another);
    const uploading = upload(randomBytes(100), another).catch(() => null);
    await expect.poll(() => another.server.app.server.listening).toBe(true);
    await expect.poll(async () => (await read(id, another)).state, SOON).toBe("running");
    const before = performance.now();
    await another.stop();
    // SHUTDOWN_TIMEOUT_MS, what interrupted runs are given, and room for a slow machine.
    expect(performance.now() - before).toBeLessThan(40_000);
    await uploading;
    await another.close();
  });

  test("is seen by who watches, and by no one else: the server stays ready", async () => {
    expect(await metric("cyrnel_object_store_up")).toBe("1");
    store.behave(how);
    expect(await metric("cyrnel_object_store_up")).toBe("0");
    expect((await server.get("/health/ready")).status).toBe(200);
    expect(await metric('cyrnel_disk_free_bytes{folder="spool"}')).toMatch(/^[1-9]\d+/);
    store.behave("well");
    await expect.poll(() => metric("cyrnel_object_store_up"), SOON).toBe("1");
  });
});

test("a run that waits for bytes of a silent store ends when it is killed", async () => {
  const { body: given } = await upload(randomBytes(100));
  store.behave("silent");
  const before = store.spoiled;
  const { id } = await submit('await cyrnel.files.read("a.bin")', { files: { "a.bin": { id: given.id } } });
  await expect.poll(() => store.spoiled, SOON).toBeGreaterThan(before);
  expect((await server.post(`/processes/${id}/signals/kill`)).status).toBe(200);
  await expect.poll(async () => (await read(id)).state, SOON).toBe("idle");
  expect(await read(id)).toMatchObject({ exitState: "canceled", reason: "killed" });
});

test("files of a run are stored once the store is back, and its record is final only then", async () => {
  store.behave("failing");
  const { id } = await submit(WRITES);
  const before = store.spoiled;
  await expect.poll(() => store.spoiled, SOON).toBeGreaterThan(before);
  expect((await read(id)).state).toBe("running");
  store.behave("well");
  await expect.poll(async () => (await read(id)).state, SOON).toBe("idle");
  expect(await read(id)).toMatchObject({ exitState: "success", artifacts: [{ name: "left.txt" }] });
});

test("an answer that breaks off is asked for again, and is 503 where it always does", async () => {
  const bytes = randomBytes(100_000);
  const { body } = await upload(bytes);
  store.behave("cut", 1);
  const before = store.spoiled;
  const whole = await content(body.id);
  expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).toBe(true);
  expect(store.spoiled).toBe(before + 1);
  store.behave("cut");
  expect((await content(body.id)).status).toBe(503);
  const script = 'return (await cyrnel.files.read("a.bin")).length';
  const failed = await server.post("/processes", {
    code: script,
    files: { "a.bin": { id: body.id } },
    block: true,
  });
  expect(failed.body).toMatchObject({ exitState: "failed", result: null });
});

test("other bytes than were stored are no content: small ones are refused, large ones break off", async () => {
  const small = (await upload(randomBytes(100_000))).body.id;
  const large = (await upload(randomBytes(LARGE_BYTES))).body.id;
  store.behave("corrupt");
  const refused = await content(small);
  expect([refused.status, (await refused.json()).code]).toEqual([503, "storage_unavailable"]);
  const part = await fetch(`${server.url}/files/${small}/content`, { headers: { range: "bytes=0-9" } });
  expect(part.status).toBe(503);
  const broken = await content(large);
  expect(broken.status).toBe(200);
  await expect(broken.arrayBuffer()).rejects.toThrow();
  for (const id of [small, large]) {
    const run = await server.post("/processes", {
      code: 'return (await cyrnel.files.read("a.bin")).length',
      files: { "a.bin": { id } },
      block: true,
    });
    expect(run.body).toMatchObject({ exitState: "failed", result: null });
  }
  expect(JSON.stringify(server.logs())).toContain("differ from those stored");
  store.behave("well");
  expect((await (await content(large)).arrayBuffer()).byteLength).toBe(LARGE_BYTES);
});

test("packages that come with the server are stored when the store is back", async () => {
  store.behave("failing");
  await using another = await start({ starterPackages: true });
  const listNames = async () =>
    (await another.get("/packages")).body.packages.map(({ name }: { name: string }) => name);
  const isTried = () =>
    JSON.stringify(another.logs()).includes("the starter set of packages could not be stored");
  await expect.poll(isTried, SOON).toBe(true);
  expect(await listNames()).toEqual([]);
  store.behave("well");
  await expect.poll(listNames, { timeout: 60_000, interval: 200 }).toContain("zod");
});

test("what the client of the store warns of goes to the log, and nowhere else", async () => {
  const warnings: object[] = [];
  const log = { warn: (fields: object) => void warnings.push(fields) };
  const printed: unknown[] = [];
  const { warn } = console;
  console.warn = (...said) => void printed.push(said);
  try {
    const bucket = createBucket("s3://files/warnings", { pathStyle: true, attemptTimeoutMs: 60_000, log });
    store.behave("silent");
    // More than it has sockets for, by far: it warns after 3 s.
    const reads = Array.from({ length: 200 }, () => bucket.read("none", 0, 1).catch(() => null));
    for (let waitedMs = 0; warnings.length === 0 && waitedMs < 20_000; waitedMs += 100) await sleep(100);
    bucket.close();
    await Promise.all(reads);
  } finally {
    console.warn = warn;
  }
  expect(JSON.stringify(warnings)).toContain("socket usage at capacity");
  expect(printed).toEqual([]);
});
