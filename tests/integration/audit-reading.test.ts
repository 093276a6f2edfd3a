/** Reading a trail that has grown: pages are what a look at every record would find, and cost what they show. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuditFilter, AuditPosition } from "#api/audit/model.ts";
import { readAuditRows, type StoredAuditRow } from "#api/audit/store-reads.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { createExplainer } from "./harness/plans.ts";

const RECORDS = 30_000;
const LIMIT = 20;
/** Rows for a page: of each of two actions a page or, where two filters meet, some that only one of them has. */
const MAX_LOOKED = 8 * LIMIT;

let database: TestDatabase;
let all: StoredAuditRow[];

beforeAll(async () => {
  database = await createTestDatabase({ maxConnections: 2 });
  // Three in the same millisecond; what is seldom was long ago; ids are not quite in the order of time.
  await database.pool`
    insert into audit_log (
      at, actor_kind, actor_id, actor_name, action, object_kind, object_id, outcome, process_id, request_id, decision
    )
    select timestamptz '2030-01-01' + ((n + case when n % 500 = 0 then 40 else 0 end) / 3) * interval '1 millisecond',
      'key', 'key_' || case when n < 900 then 0 else n % 3 end, 'a key',
      case when n % 30 = 7 and n < 6000 then (array['key.create', 'key.revoke'])[1 + n / 30 % 2] when n % 3 = 0 then 'tool.call' else 'process.create' end,
      case when n % 30 = 7 and n < 6000 then 'key' when n % 3 = 0 then 'tool' else 'process' end, 'object-' || n % 400,
      case when n % 30 = 7 and n < 6000 then (array['refused', 'failed'])[1 + n / 30 % 2] else 'ok' end, n / 4, 'request-' || n / 2,
      case when n % 3 <> 0 then null when n % 60 = 0 and n < 6000 then (array['ask', 'block'])[1 + n / 60 % 2] else 'allow' end
    from generate_series(1, ${RECORDS}::int) n`;
  await database.pool`vacuum (analyze) audit_log`;
  all = await readAuditRows(
    database.pool,
    {},
    { order: "newest first", from: null, upTo: null, limit: RECORDS },
  );
});
afterAll(() => database?.drop());

const at = (ms: number) => new Date(Date.UTC(2030, 0, 1) + ms);
const FILTERS: Record<string, AuditFilter> = {
  nothing: {},
  "an actor": { actor: "key_1" },
  "an action, all long ago": { action: "key.revoke" },
  "actions, all long ago": { action: "key.*" },
  "actions of which there are none": { action: "none.*" },
  actions: { action: "tool.*" },
  "a kind, all long ago": { objectKind: "key" },
  "an object": { objectKind: "tool", objectId: "object-33" },
  "an object of any kind": { objectId: "object-37" },
  refused: { outcome: "refused" },
  failed: { outcome: "failed" },
  ok: { outcome: "ok" },
  allowed: { decision: "allow" },
  asked: { decision: "ask" },
  blocked: { decision: "block" },
  "a process": { processId: 333 },
  "a request": { requestId: "request-4711" },
  "a time": { from: at(1000), to: at(1200) },
  "what is older": { to: at(1000) },
  "what is newer, refused: none": { from: at(5000), outcome: "refused" },
  "an actor, long ago": { actor: "key_0", to: at(150) },
  "an actor, refused": { actor: "key_1", outcome: "refused" },
  "refused calls of a kind": { action: "key.*", outcome: "refused" },
  "calls that were asked about": { action: "tool.*", decision: "ask" },
  "a process, allowed": { processId: 333, decision: "allow" },
  "actions of a time": { action: "process.*", from: at(3000), to: at(3300) },
};

function matches(row: StoredAuditRow, filter: AuditFilter): boolean {
  const { action, from, to } = filter;
  const isOf = action?.endsWith(".*")
    ? row.action.startsWith(action.slice(0, -1))
    : action === undefined || row.action === action;
  return (
    isOf &&
    (from === undefined || row.at >= from) &&
    (to === undefined || row.at < to) &&
    (filter.actor ?? row.actorId) === row.actorId &&
    (filter.objectKind ?? row.objectKind) === row.objectKind &&
    (filter.objectId ?? row.objectId) === row.objectId &&
    (filter.outcome ?? row.outcome) === row.outcome &&
    (filter.decision ?? row.decision) === row.decision &&
    (filter.processId ?? row.processId) === row.processId &&
    (filter.requestId ?? row.requestId) === row.requestId
  );
}

describe("pages", () => {
  test("all records are there, by time", () => {
    expect(all).toHaveLength(RECORDS);
    expect(all).toEqual(all.toSorted((a, b) => b.atUs - a.atUs || b.id - a.id));
  });

  test.each(Object.entries(FILTERS))("of %s, in both directions", async (_, filter) => {
    const newestFirst = all.filter((row) => matches(row, filter)).map(({ id }) => id);
    for (const order of ["newest first", "oldest first"] as const) {
      const expected = order === "newest first" ? newestFirst : newestFirst.toReversed();
      const found: number[] = [];
      let from: AuditPosition | null = null;
      // The first pages, whatever there is.
      for (let page = 0; page < 5; page += 1) {
        const rows: StoredAuditRow[] = await readAuditRows(database.pool, filter, {
          order,
          from,
          upTo: null,
          limit: LIMIT,
        });
        found.push(...rows.map(({ id }) => id));
        const last = rows.at(-1);
        if (last === undefined || rows.length < LIMIT) break;
        from = last;
      }
      expect(found).toEqual(expected.slice(0, 5 * LIMIT));
    }
  });

  test("records that come while a trail is exported are not part of it", async () => {
    const rows = await readAuditRows(
      database.pool,
      { outcome: "refused" },
      { order: "oldest first", from: null, upTo: 100, limit: LIMIT },
    );
    const expected = all.filter(({ id, outcome }) => id <= 100 && outcome === "refused").map(({ id }) => id);
    expect(expected.length).toBeGreaterThan(0);
    expect(rows.map(({ id }) => id)).toEqual(expected.toReversed());
  });
});

test("no filter makes a page look at much more than it shows", async () => {
  await using explainer = await createExplainer(database.url);
  const looked: Record<string, number> = {};
  for (const [name, filter] of Object.entries(FILTERS)) {
    for (const order of ["newest first", "oldest first"] as const) {
      const { sequential, rowsRead } = await explainer.explain(() =>
        readAuditRows(explainer.pool, filter, { order, from: null, upTo: null, limit: LIMIT }),
      );
      if (sequential.length > 0 || rowsRead > MAX_LOOKED) looked[`${name}, ${order}`] = rowsRead;
    }
  }
  expect(looked).toEqual({});
});
