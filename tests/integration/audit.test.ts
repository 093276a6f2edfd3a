import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAuditLog } from "#api/audit/log.ts";
import { sweepAudit } from "#api/audit/store.ts";
import { createPool } from "#api/db/pool.ts";
import { type GovernanceServer, startGovernanceServer } from "./governance-server.ts";
import { createTestDatabase } from "./harness/database.ts";
import { TEST_KEY } from "./harness/http-app.ts";
import { until } from "./processes-server.ts";

let governance: GovernanceServer;
beforeAll(async () => {
  governance = await startGovernanceServer();
});
afterAll(() => governance.server.close());

// biome-ignore lint/suspicious/noExplicitAny: tests look into records of every shape
type Found = any;
const audit = async (query = ""): Promise<Found[]> =>
  (await governance.server.get(`/audit?limit=200${query}`)).body.records;

describe("what is recorded", () => {
  test("each change with who, what, which, outcome and request id, before its answer is out", async () => {
    const { server } = governance;
    const admin = await governance.makeKey({ name: "ops", scopes: ["keys:admin"] });
    const made = await admin.send("POST", "/roles", { name: "audited", allow: ["**"] });
    const [record] = await audit("&action=role.create");
    expect(record).toEqual({
      id: expect.any(Number),
      at: expect.any(String),
      actor: { kind: "key", id: admin.id, name: "ops" },
      action: "role.create",
      object: { kind: "role", id: made.body.id },
      outcome: "ok",
      code: null,
      httpStatus: null,
      requestId: made.headers.get("x-request-id"),
      processId: null,
      decision: null,
      policyId: null,
      parametersSha256: createHash("sha256")
        .update('{"allow":["**"],"deny":[],"name":"audited","packages":["*"]}')
        .digest("hex"),
      parameters: { name: "audited", allow: ["**"], deny: [], packages: ["*"] },
      files: [],
    });
    const [byBootstrap] = await audit(`&action=key.create&objectId=${admin.id}`);
    expect(byBootstrap.actor).toEqual({ kind: "bootstrap", id: null, name: "bootstrap" });
    expect(await server.get("/audit")).not.toContain(TEST_KEY);
    // The secret of a key is in no record.
    const [{ text = "" } = {}] = await server.pool<{ text: string }[]>`
      select string_agg(to_json(a)::text, ' ') as text from audit_log a`;
    expect(text).not.toContain(admin.key.slice(12));
  });

  test("also what was refused, with its code; nothing of callers that nobody knows", async () => {
    const reader = await governance.makeKey({ name: "reader", scopes: ["processes:read"] });
    await reader.send("DELETE", `/keys/${reader.id}`);
    await governance.server.request("DELETE", "/processes/999999");
    await governance.callerWith("cyk_unknown").send("DELETE", `/keys/${reader.id}`);
    await until("both are there", async () => (await audit("&outcome=refused")).length >= 2);
    const refused = await audit("&outcome=refused");
    expect(refused.find(({ action }) => action === "key.revoke")).toMatchObject({
      actor: { id: reader.id, name: "reader" },
      object: { kind: "key", id: reader.id },
      code: "forbidden",
    });
    expect(refused.find(({ action }) => action === "process.delete")).toMatchObject({
      object: { kind: "process", id: "999999" },
      code: "not_found",
    });
    expect(refused).toHaveLength(2);
  });

  test("a submission with the id it got and without its script", async () => {
    const answer = await governance.server.post("/processes", {
      code: "print secret script text",
      block: true,
    });
    const records = await until("it is there", async () => {
      const found = await audit(`&action=process.create&objectId=${answer.body.id}`);
      return found.length > 0 && found;
    });
    expect(records[0].parameters).toMatchObject({ code: "[24 characters]", block: true });
    expect(JSON.stringify(records)).not.toContain("secret script text");
  });

  test("a submission with the names and sizes of its files, and nothing of what is in them", async () => {
    const bytes = Buffer.from("planted-in-base64");
    const answer = await governance.server.post("/processes", {
      code: "1",
      autorun: false,
      files: { "in/a.txt": { text: "planted-in-text é" }, "b.bin": { base64: bytes.toString("base64") } },
    });
    const [record] = await until("it is there", async () => {
      const found = await audit(`&action=process.create&objectId=${answer.body.id}`);
      return found.length > 0 && found;
    });
    expect(record.parameters.files).toEqual({
      "in/a.txt": { text: "[redacted]", size: 18 },
      "b.bin": { base64: "[redacted]", size: bytes.length },
    });
    const [{ text = "" } = {}] = await governance.server.pool<{ text: string }[]>`
      select string_agg(to_json(a)::text, ' ') as text from audit_log a`;
    for (const planted of ["planted-in", bytes.toString("base64")]) expect(text).not.toContain(planted);
    const id = `sha256-${"a".repeat(64)}`;
    await governance.server.post("/processes", { code: "1", files: { c: { id } } });
    const [refused] = await until("it is there too", async () => {
      const found = await audit("&action=process.create&outcome=refused");
      return found.length > 0 && found;
    });
    expect(refused.parameters.files).toEqual({ c: { id } });
  });

  test("reading is not recorded, but for the export of the trail", async () => {
    const before = (await audit()).length;
    for (const path of ["/keys", "/processes", "/audit", "/policies"]) await governance.server.get(path);
    expect(await audit()).toHaveLength(before);
    await governance.server.get("/audit/export");
    expect((await audit("&action=audit.export")).length).toBeGreaterThan(0);
  });
});

describe("reading the trail", () => {
  test("by actor, action, object, outcome, time and request, page by page", async () => {
    const key = await governance.makeKey({ name: "filtered", scopes: ["keys:admin", "logs:read"] });
    const from = new Date().toISOString();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      ids.push(
        (await key.send("POST", "/roles", { name: `filtered ${n}` })).headers.get("x-request-id") ?? "",
      );
    }
    await key.send("POST", "/roles", { name: "filtered 0" });
    await until("all are there", async () => (await audit(`&actor=${key.id}`)).length === 6);
    expect(await audit(`&actor=${key.id}&outcome=ok`)).toHaveLength(5);
    expect(await audit(`&actor=${key.id}&action=role.*`)).toHaveLength(6);
    expect(await audit(`&actor=${key.id}&action=key.*`)).toHaveLength(0);
    expect(await audit(`&actor=${key.id}&from=${from}`)).toHaveLength(6);
    expect(await audit(`&actor=${key.id}&to=${from}`)).toHaveLength(0);
    expect(await audit(`&requestId=${ids[2]}`)).toHaveLength(1);
    expect(await audit("&objectKind=key&action=role.create")).toHaveLength(0);

    const pages: number[] = [];
    let cursor = "";
    do {
      const { body } = await key.get(`/audit?actor=${key.id}&limit=4${cursor}`);
      pages.push(...body.records.map(({ id }: Found) => id));
      cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`;
    } while (cursor !== "");
    expect(pages).toHaveLength(6);
    expect(pages).toEqual(pages.toSorted((a, b) => b - a));
  });

  test.each(["outcome=maybe", "from=yesterday", "processId=1e3", "decision=perhaps", "who=me", "limit=0"])(
    "%s is refused",
    async (query) => {
      const answer = await governance.server.get(`/audit?${query}`);
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    },
  );

  test("the export is every record as one line of JSON, oldest first, also more than one batch", async () => {
    const { server } = governance;
    await server.pool`
      insert into audit_log (at, actor_kind, actor_name, action, outcome, parameters_preview)
      select now(), 'system', 'system', 'test.many', 'ok', '{"n":' || n || '}' from generate_series(1, 1200) as n`;
    const answer = await server.get("/audit/export?action=test.many");
    expect(answer.headers.get("content-type")).toContain("application/x-ndjson");
    const records = answer.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(records.map(({ parameters }) => parameters.n)).toEqual(
      Array.from({ length: 1200 }, (_, n) => n + 1),
    );
    expect((await server.get("/audit/export?action=nothing.such")).text).toBe("");
  });

  test("exports that nobody reads are counted no longer than they are open", async () => {
    const { server } = governance;
    await server.pool`
      insert into audit_log (at, actor_kind, actor_name, action, outcome, parameters_preview)
      select now(), 'system', 'system', 'test.large', 'ok', to_json(repeat('x', 1900))::text
      from generate_series(1, 20000)`;
    const open = (signal: AbortSignal) =>
      fetch(`${server.url}/audit/export`, { headers: { authorization: `Bearer ${TEST_KEY}` }, signal });
    const given = new AbortController();
    const answers = await Promise.all([1, 2, 3, 4].map(() => open(given.signal)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const fifth = await open(new AbortController().signal);
    expect(fifth.status).toBe(429);
    await fifth.text();
    given.abort();
    await until("there is room again", async () => {
      const next = new AbortController();
      const { status } = await open(next.signal);
      next.abort();
      return status === 200;
    });
  });
});

describe("the records stand", () => {
  test.each([
    ["update", "update audit_log set actor_name = 'somebody else'"],
    ["delete", "delete from audit_log"],
    ["delete of nothing", "delete from audit_log where false"],
    ["truncate", "truncate audit_log"],
    [
      "upsert",
      "insert into audit_log (id, at, actor_kind, actor_name, action, outcome) overriding system value " +
        "select id, at, 'system', '', '', 'ok' from audit_log limit 1 on conflict (id) do update set actor_name = ''",
    ],
  ])("the database refuses the %s", async (_title, statement) => {
    const { pool } = governance.server;
    const [before] = await pool`select count(*)::int as count from audit_log`;
    await expect(pool.unsafe(statement)).rejects.toThrow(/append-only/);
    const [after] = await pool`select count(*)::int as count from audit_log`;
    expect(after).toEqual(before);
  });

  test("only retention removes, only what is old, and nothing afterwards", async () => {
    const { pool } = governance.server;
    await pool`
      insert into audit_log (at, actor_kind, actor_name, action, outcome)
      select now() - make_interval(days => n), 'system', 'system', 'test.old', 'ok' from generate_series(1, 60) as n`;
    expect(await sweepAudit(pool, 30)).toBe(31);
    expect(await audit("&action=test.old")).toHaveLength(29);
    await expect(pool`select remove_old_audit(interval '1 hour', 10)`).rejects.toThrow(/younger than a day/);
    await expect(pool`delete from audit_log`).rejects.toThrow(/append-only/);
    await pool.begin(async (transaction) => {
      await transaction`select remove_old_audit(interval '30 days', 10)`;
      await expect(transaction.savepoint((inner) => inner`delete from audit_log`)).rejects.toThrow(
        /append-only/,
      );
    });
  });

  test("they outlive the process, the key and the role they name", async () => {
    const { server } = governance;
    const { id } = (await server.post("/processes", { code: "print x", block: true })).body;
    expect((await server.request("DELETE", `/processes/${id}`)).status).toBe(204);
    const records = await audit(`&objectKind=process&objectId=${id}`);
    expect(records.map(({ action }) => action)).toEqual(["process.delete", "process.create"]);
  });
});

describe("when records cannot be stored", () => {
  const entry = (action: string) => ({ actor: { kind: "system" as const }, action, outcome: "ok" as const });

  test("they wait, in order and bounded; what would have to be recorded is refused; nothing is lost", async () => {
    await using database = await createTestDatabase();
    const pool = createPool(database.url, { maxConnections: 1 });
    const lines: Record<string, unknown>[] = [];
    const log = pino({ level: "error" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const limits = { maxWaitingRecords: 50, maxAdmitMs: 100, maxFailingMs: 300, maxCloseMs: 2000 };
    const writer = createAuditLog({ db: pool, log, limits });
    // A database in which nothing can be recorded: after a while nothing more is admitted.
    await database.pool`alter table audit_log rename to audit_log_away`;
    writer.record(entry("waiting.first"));
    await until("nothing is admitted", () =>
      writer.admit().then(
        () => false,
        () => true,
      ),
    );
    expect(lines.some(({ msg }) => String(msg).includes("retrying"))).toBe(true);
    await database.pool`alter table audit_log_away rename to audit_log`;
    await until("all is well again", () =>
      writer.admit().then(
        () => writer.waiting === 0,
        () => false,
      ),
    );

    // A database that does not answer: they wait.
    const locked = await database.pool.reserve();
    await locked`begin`;
    await locked`lock table audit_log in access exclusive mode`;
    for (let n = 0; n < 50; n += 1) writer.record(entry(`waiting.${n}`));
    await expect(writer.admit()).rejects.toMatchObject({ code: "audit_unavailable", status: 503 });
    for (let n = 50; n < 120; n += 1) writer.record(entry(`waiting.${n}`));
    await locked`commit`;
    locked.release();
    await writer.admit();
    await writer[Symbol.asyncDispose]();
    const rows = await database.pool<{ action: string }[]>`
      select action from audit_log where action like 'waiting.%' order by id`;
    const logged = lines.filter(({ type }) => type === "audit").map(({ audit }) => (audit as Found).action);
    const all = ["waiting.first", ...Array.from({ length: 120 }, (_, n) => `waiting.${n}`)];
    expect(rows.map(({ action }) => action)).toEqual(all.filter((action) => !logged.includes(action)));
    expect(rows.length + logged.length).toBe(all.length);
    // Twice the bound is kept in memory; the rest is written down where it can be.
    expect(logged.length).toBeGreaterThan(0);
    await pool.end({ timeout: 1 });
  });

  test("a record that the database refuses does not hold up the others", async () => {
    await using database = await createTestDatabase();
    await database.pool`alter table audit_log add constraint no_such check (action <> 'refused.this')`;
    const lines: Record<string, unknown>[] = [];
    const log = pino({ level: "error" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const writer = createAuditLog({ db: database.pool, log });
    for (const action of ["first", "refused.this", "last"]) writer.record(entry(action));
    await writer[Symbol.asyncDispose]();
    const rows = await database.pool<{ action: string }[]>`select action from audit_log order by id`;
    expect(rows.map(({ action }) => action)).toEqual(["first", "last"]);
    expect(lines.filter(({ type }) => type === "audit")).toHaveLength(1);
  });

  test("names of any kind can be stored", async () => {
    await using database = await createTestDatabase();
    const log = pino({ level: "silent" });
    const writer = createAuditLog({ db: database.pool, log });
    const hostile = ["\0", "\ud800", "'); drop table audit_log; --", "x".repeat(10_000), "\\u0000", "ä€𝄞"];
    for (const text of hostile) {
      writer.record({
        ...entry("hostile"),
        object: { kind: "tool", id: text },
        parameters: { [text]: text },
      });
    }
    await writer[Symbol.asyncDispose]();
    const [row] = await database.pool`select count(*)::int as count from audit_log`;
    expect(row?.count).toBe(hostile.length);
  });

  test("over HTTP a change is refused before it happens", async () => {
    await using failing = await startGovernanceServer();
    const { server } = failing;
    const key = await failing.makeKey();
    const locked = await server.pool.reserve();
    await locked`begin`;
    await locked`lock table audit_log in access exclusive mode`;
    const { audit: writer } = server.server.governance;
    for (let n = 0; n < 6000; n += 1) writer.record(entry("filler"));
    const answer = await server.post("/roles", { name: "unrecorded" });
    expect([answer.status, answer.body.code]).toEqual([503, "audit_unavailable"]);
    expect(answer.headers.get("retry-after")).toBe("5");
    // Reading goes on, and so does what stops something.
    expect((await server.request("DELETE", `/keys/${key.id}`)).status).toBe(204);
    expect((await server.get("/roles")).body.roles).toEqual([]);
    await locked`commit`;
    locked.release();
    await until("changes are possible again", async () => {
      await sleep(50);
      return (await server.post("/roles", { name: "recorded" })).status === 201;
    });
  });
});
