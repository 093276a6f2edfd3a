import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { openDatabase, refuseSharedSession } from "#api/db/database.ts";
import { DatabaseRefused, listAppliedMigrations, listMigrations, migrate } from "#api/db/migrate.ts";
import { createPool, isDatabaseUnavailable } from "#api/db/pool.ts";
import { dumpSchema } from "#api/db/schema-dump.ts";
import { acquireServerLock } from "#api/db/server-lock.ts";
import {
  countConnections,
  createTestDatabase,
  migrateBefore,
  type TestDatabase,
} from "./harness/database.ts";

const databases: TestDatabase[] = [];
async function create(options?: { empty?: boolean }): Promise<TestDatabase> {
  const database = await createTestDatabase(options);
  databases.push(database);
  return database;
}
afterEach(async () => {
  for (const database of databases.splice(0)) {
    expect(await countConnections(database)).toBe(0);
    await database.drop();
  }
});
const neverTakenOver = () => {
  throw new Error("nobody takes this lock over");
};

describe("migrations", () => {
  test("ten servers that start at once on an empty database migrate it exactly once", async () => {
    const database = await create({ empty: true });
    const applied = await Promise.all(Array.from({ length: 10 }, () => migrate(database.url)));
    const known = await listMigrations();
    expect(known.length).toBeGreaterThan(0);
    expect(applied.flat().sort()).toEqual(known);
    expect(await listAppliedMigrations(database.pool)).toEqual(known);
  });

  test("a sequence that a crash has set back does not stop the next migration", async () => {
    const database = await create({ empty: true });
    await migrateBefore(database, "0026_unanswered_requests");
    await database.pool`alter sequence schema_migrations_id_seq restart`;
    expect(await migrate(database.url)).toContain("0026_unanswered_requests");
    expect(await listAppliedMigrations(database.pool)).toEqual(await listMigrations());
  });

  test("what others hold is waited for, and what is about to be done is told", async () => {
    const database = await create({ empty: true });
    // It checks a constraint of processes.
    const next = "0020_process_check_valid";
    await migrateBefore(database, next);
    const pending = (await listMigrations()).filter((name) => name >= next);
    const told: string[] = [];
    const held = database.pool.begin(async (sql) => {
      await sql`lock table processes in access exclusive mode`;
      const migrating = migrate(database.url, (names) => told.push(...names));
      await vi.waitUntil(async () => {
        await sql`select pg_stat_clear_snapshot()`;
        const waiting = await sql`
          select 1 from pg_stat_activity where application_name = 'cyrnel migration' and wait_event_type = 'Lock'`;
        return waiting.length > 0;
      });
      return { migrating };
    });
    expect(await (await held).migrating).toEqual(pending);
    expect(told).toEqual(pending);
  });

  test("keys of before processes:all keep what they could do; keys that could do nothing with processes get nothing", async () => {
    const database = await create({ empty: true });
    await migrateBefore(database, "0021_process_owners");
    const { pool } = database;
    const scopesOf = {
      reader: ["processes:read"],
      writer: ["logs:read", "processes:write"],
      other: ["keys:admin"],
    };
    for (const [index, [name, scopes]] of Object.entries(scopesOf).entries()) {
      await pool`
        insert into api_keys (id, name, prefix, hash, scopes)
        values (${`key_${String(index).repeat(20)}`}, ${name}, 'cyk_', ${Buffer.alloc(32, index)}, ${scopes})`;
    }
    await migrate(database.url);
    const rows = await pool<
      { name: string; scopes: string[] }[]
    >`select name, scopes from api_keys order by id`;
    expect(rows).toEqual([
      { name: "reader", scopes: ["processes:read", "processes:all"] },
      { name: "writer", scopes: ["logs:read", "processes:write", "processes:all"] },
      { name: "other", scopes: ["keys:admin"] },
    ]);
  });

  test("what was remembered before rules had keys is over; rules of administrators stay", async () => {
    const database = await create({ empty: true });
    await migrateBefore(database, "0022_remembered_rules");
    const { pool } = database;
    const later = new Date(Date.now() + 60_000);
    for (const [position, [tool, decision, expiresAt, processId]] of [
      ["remembered", "allow", later, null],
      ["remembered_for_a_process", "allow", later, 7],
      ["asked", "ask", later, null],
      ["blocked", "block", later, null],
      ["wild_*", "allow", later, null],
      ["for_ever", "allow", null, null],
    ].entries()) {
      await pool`
        insert into policies (id, position, service_pattern, tool_pattern, decision, expires_at, process_id)
        values (${`pol_${String(position).repeat(20)}`}, ${position}, 'shop', ${tool as string}, ${decision as string},
          ${expiresAt as Date | null}::timestamptz, ${processId as number | null}::bigint)`;
    }
    await migrate(database.url);
    const rows = await pool<{ tool: string }[]>`select tool_pattern as tool from policies order by position`;
    expect(rows.map(({ tool }) => tool)).toEqual(["asked", "blocked", "wild_*", "for_ever"]);
  });

  test("a database that is newer than the program is refused with both versions named, and not touched", async () => {
    const database = await create();
    await database.pool`insert into schema_migrations (name, run_on) values ('9999_from_the_future', now())`;
    const error = await migrate(database.url).catch((reason) => reason);
    expect(error).toBeInstanceOf(DatabaseRefused);
    expect(error.message).toContain("9999_from_the_future");
    expect(error.message).toContain((await listMigrations()).at(-1));
  });

  test("a database that lacks a migration before its last is refused, and not touched", async () => {
    const database = await create();
    await database.pool`delete from schema_migrations where name = '0024_tool_groups'`;
    await expect(migrate(database.url)).rejects.toThrow(/but not 0024_tool_groups/);
  });

  test("a server of an earlier version that migrates under its session's lock is waited for", async () => {
    const database = await create({ empty: true });
    const next = "0023_call_waiting";
    await migrateBefore(database, next);
    await using earlier = await openAnother(database);
    await earlier`select pg_advisory_lock(7241865325823964)`;
    const migrating = migrate(database.url);
    await vi.waitUntil(async () => {
      const waiting = await database.pool`
        select 1 from pg_stat_activity where application_name = 'cyrnel migration' and wait_event = 'advisory'`;
      return waiting.length > 0;
    });
    expect((await listAppliedMigrations(database.pool)).at(-1)).not.toBe(next);
    await earlier`select pg_advisory_unlock(7241865325823964)`;
    await expect(migrating).resolves.toContain(next);
  });

  test("a read-only database is refused by name", async () => {
    const database = await create();
    await database.pool.unsafe(`alter database ${database.name} set default_transaction_read_only = on`);
    await expect(migrate(database.url)).rejects.toThrow(/read-only/);
  });

  test("api/db/schema.sql is the schema of a migrated database", async () => {
    const database = await create();
    const committed = await readFile(new URL("../../api/db/schema.sql", import.meta.url), "utf8");
    expect(await dumpSchema(database.pool)).toBe(committed);
  });
});

describe("an open database", () => {
  test("keeps connections for signs of life, however busy the others are", async () => {
    const database = await create();
    const config = { databaseUrl: database.url, dataDirectory: "unused" };
    await using opened = await openDatabase(config, { onTakenOver: neverTakenOver });
    let ended = 0;
    const busy = Array.from({ length: 40 }, () => opened.pool`select pg_sleep(0.5)`.then(() => (ended += 1)));
    await opened.priorityPool`select 1`;
    // Behind the others it would have been the turn of this one after 26 of them at the earliest.
    expect(ended).toBeLessThan(26);
    await Promise.all(busy);
  });
});

describe("a database behind a pooler", () => {
  test("is refused where connections share a session, with what to set", async () => {
    const database = await create();
    await using other = await openAnother(database);
    await expect(refuseSharedSession(database.pool, other)).resolves.toBeUndefined();
    // What a pooler in transaction mode does: two clients, one session.
    await using shared = await openAnother(database);
    const error = await refuseSharedSession(shared, shared).catch((reason) => reason);
    expect(error).toBeInstanceOf(DatabaseRefused);
    expect(error.message).toContain("pool_mode = session");
  });

  test("is named where the pooler refuses the limit of a statement", async () => {
    const refusal = Buffer.from(
      "SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: statement_timeout\0\0",
    );
    const length = Buffer.alloc(4);
    length.writeInt32BE(refusal.length + 4);
    const pooler = createServer((client) => {
      client.on("error", () => {});
      client.once("data", () => client.end(Buffer.concat([Buffer.from("E"), length, refusal])));
    }).listen(0, "127.0.0.1");
    await once(pooler, "listening");
    const { port } = pooler.address() as AddressInfo;
    const config = {
      databaseUrl: `postgres://someone:hunter2@127.0.0.1:${port}/it`,
      dataDirectory: "unused",
    };
    const opening = openDatabase(config, { onTakenOver: neverTakenOver, lockWaitMs: 0 });
    await expect(opening).rejects.toThrow(/PgBouncer .* ignore_startup_parameters = statement_timeout/);
    pooler.close();
  });

  test("may limit statements of the role: migrations lift that for themselves", async () => {
    const database = await create({ empty: true });
    // Another server's migration holds the lock for longer than a statement of the role may take.
    await using other = await openAnother(database);
    await other`select pg_advisory_lock(7241865325823964)`;
    await database.pool.unsafe(`alter database ${database.name} set statement_timeout = '400ms'`);
    const migrating = migrate(database.url);
    await sleep(1500);
    await other`select pg_advisory_unlock(7241865325823964)`;
    await expect(migrating).resolves.toEqual(await listMigrations());
  });
});

describe("one server per database", () => {
  test("a second server is refused with the holder named, and admitted when the first has gone", async () => {
    const database = await create();
    const first = await acquireServerLock(database.url, { onTakenOver: neverTakenOver });
    const error = await acquireServerLock(database.url, { waitMs: 300, onTakenOver: neverTakenOver }).catch(
      (reason) => reason,
    );
    expect(error).toBeInstanceOf(DatabaseRefused);
    expect(error.message).toMatch(/Another Cyrnel server already uses this database \(.*:\d+, since 2/);

    const second = acquireServerLock(database.url, { waitMs: 20_000, onTakenOver: neverTakenOver });
    await first[Symbol.asyncDispose]();
    await (await second)[Symbol.asyncDispose]();
  });

  test("servers on different databases do not meet", async () => {
    const [one, two] = [await create(), await create()];
    await using first = await openDatabase(
      { databaseUrl: one.url, dataDirectory: "/nowhere" },
      { onTakenOver: neverTakenOver },
    );
    await using second = await openDatabase(
      { databaseUrl: two.url, dataDirectory: "/nowhere" },
      { onTakenOver: neverTakenOver },
    );
    expect([first.watch.reachable, second.watch.reachable]).toEqual([true, true]);
  });

  test("a lock that was lost with its connection is taken again", async () => {
    const database = await create();
    await using lock = await acquireServerLock(database.url, { onTakenOver: neverTakenOver });
    await endLockConnections(database);
    await expect.poll(() => countLocks(database), { timeout: 20_000 }).toBe(1);
    expect(lock.reachable).toBe(true);
  });

  test("a server whose place was taken meanwhile is told to stop", async () => {
    const database = await create();
    let takenOver = 0;
    await using _lock = await acquireServerLock(database.url, {
      onTakenOver: () => {
        takenOver += 1;
      },
    });
    // Another session waits for the lock, so it gets it in the moment the connection ends.
    const rival = await database.pool.reserve();
    const waiting = rival`select pg_advisory_lock(${0x4379726e}, ${0x73657276})`.execute();
    await expect
      .poll(
        async () =>
          (await database.pool`select 1 from pg_locks where locktype = 'advisory' and not granted`).length,
      )
      .toBe(1);
    await endLockConnections(database);
    await waiting;
    await expect.poll(() => takenOver, { timeout: 20_000 }).toBe(1);
    rival.release();
  });
});

test("a database that cannot be reached is reported with its address, not its password", async () => {
  const config = { databaseUrl: "postgres://someone:hunter2@127.0.0.1:1/nothing", dataDirectory: "/nowhere" };
  const error = await openDatabase(config, { onTakenOver: neverTakenOver, lockWaitMs: 200 }).catch(
    (reason) => reason,
  );
  expect(error.message).toContain("127.0.0.1:1");
  expect(error.message).not.toContain("hunter2");
  expect(isDatabaseUnavailable(error.cause)).toBe(true);
});

async function openAnother({ url }: TestDatabase) {
  const pool = createPool(url, { maxConnections: 1, applicationName: "another" });
  return Object.assign(pool, { [Symbol.asyncDispose]: () => pool.end({ timeout: 1 }) });
}

async function endLockConnections(database: TestDatabase): Promise<void> {
  await database.pool`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = ${database.name} and application_name like 'cyrnel server %'`;
}

async function countLocks(database: TestDatabase): Promise<number> {
  const rows = await database.pool`select 1 from pg_locks join pg_stat_activity using (pid)
    where locktype = 'advisory' and granted and datname = ${database.name}`;
  return rows.length;
}
