/** Storage quota of a key: uploads, given files and artifacts, each content once, also with concurrent requests. */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUILTIN_MODULES } from "#api/components/modules/builtins.ts";
import { countLeft } from "#api/files/store.ts";
import { endAbandonedRuns } from "#api/processes/store/queue.ts";
import { type ApprovalsServer, startApprovalsServer } from "./approvals/server.ts";
import { createTestDatabase } from "./harness/database.ts";
import { startServer, type TestServer } from "./harness/server.ts";

const MAX_BYTES = 100_000;
const BOOTSTRAP = "quota-bootstrap-key-0123456789";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({
    builtins: BUILTIN_MODULES.filter(({ id }) => id === "typescript-process"),
    environment: { CYRNEL_API_KEY: BOOTSTRAP, CYRNEL_MAX_STORED_BYTES: String(MAX_BYTES) },
  });
  await server.post("/modules/typescript-process/enabled", { enabled: true });
});
afterAll(async () => server.close());

/** A key of its own for each test: nothing of another one counts. */
async function makeKey(): Promise<Record<string, string>> {
  const { body } = await server.post("/keys", {
    name: "quota",
    scopes: ["processes:read", "processes:write"],
  });
  return { authorization: `Bearer ${body.key}` };
}

const upload = (bytes: Uint8Array | string, headers: Record<string, string>) =>
  server.request("POST", "/files", { body: bytes, headers: { ...headers, "content-type": "text/csv" } });

const run = async (code: string, headers: Record<string, string>) =>
  (await server.post("/processes", { code, block: true }, headers)).body;

/** By the database's own count, and by what it counts. */
async function keptBy(headers: Record<string, string>): Promise<number> {
  const { files } = (await server.get("/files?limit=1", headers)).body;
  const [row] = await server.pool<
    { owner: string }[]
  >`select owner from files where digest = ${files[0].id.slice(7)}`;
  const owner = row?.owner as string;
  const listed = (await server.get("/files", headers)).body;
  const [counted] = await server.pool<{ bytes: number; listed: number }[]>`
    select s.bytes, (select coalesce(sum(size), 0)::bigint from stored_contents c where c.owner = s.owner) as listed
    from stored_bytes s where owner = ${owner}`;
  expect(counted?.bytes).toBe(counted?.listed);
  expect([listed.storedBytes, listed.maxStoredBytes]).toEqual([counted?.bytes, MAX_BYTES]);
  return counted?.bytes as number;
}

async function countContents(size: number): Promise<number> {
  const [row] = await server.pool<{ count: number }[]>`
    select count(*) from contents where size = ${size}`;
  return row?.count as number;
}

describe("a key", () => {
  test("is refused what goes beyond, with a sentence that says what to do; others are not", async () => {
    const [alice, bob] = [await makeKey(), await makeKey()];
    const first = randomBytes(40_000);
    const { body: kept } = await upload(first, alice);
    expect((await upload(first, alice)).status).toBe(200);
    const refused = await upload(randomBytes(70_000), alice);
    expect([refused.status, refused.body.code]).toEqual([413, "storage_full"]);
    expect(refused.body.error).toBe(
      "This key keeps 40000 bytes in uploads, in files of its processes and in what they left or saved; at most 100000 are kept, and this would be more (CYRNEL_MAX_STORED_BYTES). Delete uploads (DELETE /files/:id) or processes (DELETE /processes/:id) that are not needed any more.",
    );
    expect((await upload(randomBytes(70_000), bob)).status).toBe(201);
    expect(await keptBy(alice)).toBe(40_000);
    expect((await server.request("DELETE", `/files/${kept.id}`, { headers: alice })).status).toBe(204);
    expect((await upload(randomBytes(70_000), alice)).status).toBe(201);
  });

  test("keeps no more when many uploads come at once", async () => {
    const key = await makeKey();
    const answers = await Promise.all(Array.from({ length: 8 }, () => upload(randomBytes(30_000), key)));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, 201, 201, 413, 413, 413, 413, 413]);
    expect(await keptBy(key)).toBe(90_000);
  });

  test("has what a process was given until the process is deleted, counted once with its upload", async () => {
    const key = await makeKey();
    const { body: given } = await upload(randomBytes(40_000), key);
    const create = (files: object) =>
      server.post("/processes", { code: "return 1", autorun: false, files }, key);
    const { body: holder } = await create({ a: { id: given.id }, b: { id: given.id } });
    await server.request("DELETE", `/files/${given.id}`, { headers: key });
    await upload(randomUUID(), key);
    expect(await keptBy(key)).toBe(40_036);
    const text = { text: "y".repeat(60_000) };
    const refused = await create({ c: text });
    expect([refused.status, refused.body.code]).toEqual([413, "storage_full"]);
    expect((await server.get("/processes", key)).body.processes).toHaveLength(1);
    await server.request("DELETE", `/processes/${holder.id}`, { headers: key });
    expect(await keptBy(key)).toBe(36);
    expect((await create({ c: text })).status).toBe(201);
    expect(await keptBy(key)).toBe(60_036);
  });

  test("leaves nothing of a run that leaves too much, also of two that end at once", async () => {
    const key = await makeKey();
    await upload(randomUUID(), key);
    const write = (size: number, fill: string) =>
      run(`await cyrnel.files.write("out.txt", "${fill}".repeat(${size}))`, key);
    const alone = await write(MAX_BYTES, "a");
    expect(alone).toMatchObject({ exitState: "failed", reason: "output_limit", artifacts: [] });
    expect(alone.error).toContain("CYRNEL_MAX_STORED_BYTES");
    // Its bytes were not even stored: they would lie there until a sweep.
    expect(await countContents(MAX_BYTES)).toBe(0);
    const given = { "a.txt": { text: "g".repeat(MAX_BYTES) } };
    const refused = await server.post("/processes", { code: "return 1", files: given }, key);
    expect([refused.status, refused.body.code]).toEqual([413, "storage_full"]);
    expect(await countContents(MAX_BYTES)).toBe(0);
    const both = await Promise.all([write(70_000, "b"), write(70_000, "c")]);
    expect(both.map(({ exitState }) => exitState).sort()).toEqual(["failed", "success"]);
    expect(await keptBy(key)).toBe(70_036);
    const { id } = both.find(({ exitState }) => exitState === "success");
    const again = await server.post(`/processes/${id}/signals/run`, { force: true, block: true }, key);
    expect(again.body).toMatchObject({ exitState: "success" });
    expect(await keptBy(key)).toBe(70_036);
    await server.request("DELETE", `/processes/${id}`, { headers: key });
    expect(await keptBy(key)).toBe(36);
  });

  test("keeps nothing of a run whose server was lost between counting what it left and storing that", async () => {
    const key = await makeKey();
    await upload(randomUUID(), key);
    const { body: held } = await upload(randomBytes(70_000), key);
    const { id } = (await server.post("/processes", { code: "return 1", autorun: false }, key)).body;
    await server.pool`update processes set state = 'running', environment = 'typescript-process', queued_at = now(), started_at = now(), claim = ${randomUUID()}, replica = ${randomUUID()} where id = ${id}`;
    await countLeft(server.pool, id, [held.id.slice(7)], MAX_BYTES);
    await server.request("DELETE", `/files/${held.id}`, { headers: key });
    expect(await keptBy(key)).toBe(70_036);
    await endAbandonedRuns(server.pool, null, { replica: null, unheld: [], maxSilentMs: null });
    expect((await server.get(`/processes/${id}`, key)).body).toMatchObject({
      reason: "interrupted",
      artifacts: [],
    });
    expect(await keptBy(key)).toBe(36);
  });
});

describe("answers that are saved as files", () => {
  const open = new AsyncDisposableStack();
  let on: ApprovalsServer;
  beforeAll(async () => {
    const database = await createTestDatabase({ maxConnections: 12 });
    open.defer(() => database.drop());
    on = open.use(
      await startApprovalsServer({
        database,
        environments: BUILTIN_MODULES.filter(({ id }) => id === "typescript-process"),
        environment: { CYRNEL_APPROVAL_HOLD_MS: "0", CYRNEL_MAX_STORED_BYTES: String(MAX_BYTES) },
        functions: {
          text: { invoke: ({ parameters }) => String(parameters.letter).repeat(60_000) },
          delete_data: { destructive: true, invoke: () => ({ deleted: true }) },
        },
      }),
    );
    await on.server.post("/modules/typescript-process/enabled", { enabled: true });
  });
  afterAll(() => open.disposeAsync());

  const storedBytes = async () => (await on.agent.send("GET", "/files")).body.storedBytes;
  const pausing = (letter: string) =>
    on.submit(
      `await tools.shop.text({ letter: "${letter}" }, { saveAs: "answer.txt" });
      await cyrnel.files.remove("answer.txt");
      return tools.shop.delete_data({}).catch((error) => error.message);`,
    );

  test("count while the run may be repeated; one for which there is no room keeps a person from being asked", async () => {
    const id = await pausing("a");
    const [approval = ""] = await on.paused(id);
    expect(await storedBytes()).toBe(60_000);
    const refused = await on.read(await pausing("b"), "?wait=30000");
    expect(refused).toMatchObject({ exitState: "success", approvals: [] });
    expect(refused.result).toMatch(
      /No approver can be asked: This key keeps 60000 bytes.*CYRNEL_MAX_STORED_BYTES/,
    );
    expect(await storedBytes()).toBe(60_000);
    const [contents] = await on.server.pool<{ count: number }[]>`select count(*) from contents`;
    expect(contents?.count).toBe(1);
    const { text } = await on.server.get("/metrics");
    expect(text).toContain('cyrnel_file_refusals_total{reason="quota"} 1\n');
    await on.decide(approval, "approve");
    expect((await on.read(id, "?wait=30000")).result).toEqual({ deleted: true });
    expect(await storedBytes()).toBe(0);
  });
});
