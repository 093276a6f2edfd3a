import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createKeyDirectory } from "#api/access/keys/directory.ts";
import { createPolicyDirectory } from "#api/access/policies/directory.ts";
import { createPool } from "#api/db/pool.ts";
import { createRevisionWatch } from "#api/db/revisions.ts";
import { createGate, createRoleDirectory } from "#api/governance.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";
import { administer } from "./harness/global-setup.ts";
import { until } from "./processes-server.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const KEY = { id: `key_${"a".repeat(20)}`, hash: Buffer.alloc(32, 7) };

/** Keys, roles and policies as a server holds them, that give up on an old copy sooner. */
async function openGate(maxStaleMs: number) {
  const pool = createPool(database.url, { maxConnections: 2, connectTimeoutMs: 500 });
  const watch = createRevisionWatch(pool, { log: pino({ level: "silent" }), pollMs: 50, maxStaleMs });
  const keys = createKeyDirectory(pool, watch);
  const gate = createGate({
    watch,
    keys,
    roles: createRoleDirectory(pool, watch),
    policies: createPolicyDirectory(pool, watch, { defaultPolicy: "allow", keys }),
  });
  await watch.start();
  return {
    gate,
    keys,
    watch,
    async [Symbol.asyncDispose]() {
      await keys[Symbol.asyncDispose]();
      await watch[Symbol.asyncDispose]();
      await pool.end({ timeout: 1 });
    },
  };
}

const call = { serviceId: "a", toolId: "b", destructive: false };

test("while the database is away for long nothing is visible and no call is allowed; afterwards all is as before", async () => {
  await using open = await openGate(500);
  expect(open.gate.canSee({}, call)).toBe(true);
  expect(await open.gate.decide({}, call)).toEqual({ decision: "allow" });
  const server = inject("postgresUrl");
  await administer(server, `alter database ${database.name} allow_connections false`);
  await administer(
    server,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database.name}'`,
  );
  try {
    await until("the copy is too old", () => !open.watch.isFresh());
    expect(open.gate.canSee({}, call)).toBe(false);
    await expect(open.gate.decide({}, call)).rejects.toThrow(/policies cannot be read/);
    await expect(open.keys.verify(`cyk_${"A".repeat(43)}`)).rejects.toThrow();
  } finally {
    await administer(server, `alter database ${database.name} allow_connections true`);
  }
  await until("the copy is fresh again", () => open.watch.isFresh());
  expect(await open.gate.decide({}, call)).toEqual({ decision: "allow" });
});

test("a change is noticed without a notice of it", async () => {
  await using open = await openGate(10_000);
  await database.pool.begin(async (transaction) => {
    await transaction`alter table api_keys disable trigger all`;
    await transaction`
      insert into api_keys (id, name, prefix, hash, scopes) values (${KEY.id}, 'quiet', 'cyk_quiet', ${KEY.hash}, '{}')`;
    await transaction`alter table api_keys enable trigger all`;
    await transaction`update revisions set revision = revision + 1 where kind = 'keys'`;
  });
  await until("the key is known", () => open.keys.find(KEY.id) !== null);
});

test("any number of looks at one time is few queries, and each look sees what was committed before it", async () => {
  const pool = createPool(database.url, { maxConnections: 2 });
  const watch = createRevisionWatch(pool, { log: pino({ level: "silent" }), pollMs: 60_000 });
  let loads = 0;
  let queries = 0;
  watch.follow("roles", async () => {
    loads += 1;
  });
  await watch.start();
  await sleep(50);
  const before = loads;
  pool.options.debug = () => {
    queries += 1;
  };
  await database.pool`update revisions set revision = revision + 1 where kind = 'roles'`;
  await Promise.all(Array.from({ length: 1000 }, () => watch.refresh()));
  expect(loads).toBe(before + 1);
  expect(queries).toBeLessThan(10);
  await watch[Symbol.asyncDispose]();
  await pool.end({ timeout: 1 });
});
