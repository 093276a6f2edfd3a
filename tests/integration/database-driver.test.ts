/** What we ask of the driver beyond queries: arrays as they are, and connections that end without ending the server. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import fc from "fast-check";
import postgres from "postgres";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ARRAY_TYPES, createPool, isDatabaseUnavailable } from "#api/db/pool.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";

/** The message ReadyForQuery of an idle connection (PostgreSQL, "Message Formats"). */
const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

describe("bytes", () => {
  test("arrive as they were sent, beside texts and nulls, at the first query and at later ones", async () => {
    for (const length of [0, 1, 255, 4096, 300_000, 1]) {
      const sent = randomBytes(length);
      const [row] = await database.pool`
        select ${sent}::bytea as got, ${"text"}::text as text, ${null}::bytea as none, octet_length(${sent}::bytea) as length,
               ${[length]}::integer[] as list`;
      expect(row).toEqual({ got: sent, text: "text", none: null, length, list: [length] });
    }
    const [{ got } = {}] = await database.pool`select ${new Uint8Array([1, 2, 3]).subarray(1)}::bytea as got`;
    expect(got).toEqual(Buffer.from([2, 3]));
    const rows = await database.pool.begin(
      (sql) => sql`select decode(hex, 'hex') as got from unnest(${["00", "ff"]}::text[]) hex`,
    );
    expect(rows.map((one) => one.got)).toEqual([Buffer.from([0]), Buffer.from([255])]);
  });

  test("that were text before a table was changed are text, and the other way round", async () => {
    await database.pool`create table changed (value text)`;
    await database.pool`insert into changed values ('a')`;
    const read = () => database.pool`select * from changed`;
    for (let time = 0; time < 2; time++) expect(await read()).toEqual([{ value: "a" }]);
    await database.pool`alter table changed add bytes bytea default 'b'`;
    await read().catch(() => {});
    for (let time = 0; time < 2; time++)
      expect(await read()).toEqual([{ value: "a", bytes: Buffer.from("b") }]);
  });
});

describe("arrays", () => {
  test("texts arrive as they were sent", async () => {
    const text = fc.oneof(
      fc.constantFrom("", "NULL", "null", '"', "\\", "{}", ",", " ", "a\nb", "é🙂"),
      fc.string({ unit: "grapheme" }).map((drawn) => drawn.replaceAll("\0", "")),
    );
    const element = fc.option(text);
    await fc.assert(
      fc.asyncProperty(fc.array(element), async (sent) => {
        const [row] = await database.pool<{ got: unknown; first: unknown }[]>`
          select ${sent}::text[] as got, (${sent}::text[])[1] as first`;
        expect(row).toEqual({ got: sent, first: sent[0] ?? null });
      }),
      { numRuns: 200 },
    );
  });

  test("numbers arrive as they were sent", async () => {
    const integers = [0, -1, 2 ** 31 - 1];
    const bigints = [0, -1, Number.MAX_SAFE_INTEGER];
    const [row] = await database.pool`
      select ${integers}::integer[] as integers, ${bigints}::bigint[] as bigints, ${[]}::bigint[] as none`;
    expect(row).toEqual({ integers, bigints, none: [] });
  });

  test("what is neither a text nor a number is refused, and the connection works on", async () => {
    for (const element of [undefined, true, ["nested"], { an: "object" }]) {
      const sent = ["text", element] as string[];
      await expect(database.pool`select ${sent}::text[] as got`).rejects.toThrow(
        /may contain texts, numbers and null/,
      );
    }
    expect(await database.pool`select ${["text"]}::text[] as got`).toEqual([{ got: ["text"] }]);
  });

  test("every array type of the schema is declared", async () => {
    const columns = await database.pool<{ type: string }[]>`
      select distinct format_type(atttypid, null) as type from pg_attribute
      join pg_class on pg_class.oid = attrelid join pg_type on pg_type.oid = atttypid
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'v') and typcategory = 'A'`;
    const types = columns.map(({ type }) => type);
    expect(types).toContain("text[]");
    expect(Object.keys(ARRAY_TYPES)).toEqual(expect.arrayContaining(types));
  });
});

describe("a connection that ends", () => {
  const strays: unknown[] = [];
  const onStray = (reason: unknown) => void strays.push(reason);
  const EVENTS = ["unhandledRejection", "uncaughtException"];
  beforeEach(() => {
    strays.length = 0;
    for (const event of EVENTS) process.on(event, onStray);
  });
  afterEach(async () => {
    // What nobody has caught is told at the end of a turn.
    await new Promise((resolve) => setImmediate(resolve));
    for (const event of EVENTS) process.off(event, onStray);
    expect(strays).toEqual([]);
  });

  test("right after it was made ends nothing but the query that asked for it", async () => {
    await using proxy = await listen((client) => {
      const upstream = connect(socketOf(database));
      let isReady = false;
      upstream.on("error", () => {}).on("close", () => client.destroy());
      upstream.on("data", (answer: Buffer) => {
        client.write(answer);
        isReady ||= answer.includes(READY_FOR_QUERY);
      });
      client.on("close", () => upstream.destroy());
      client.on("data", (asked) => (isReady ? client.resetAndDestroy() : upstream.write(asked)));
    });
    const pool = createPool(proxy.url);
    for (let attempt = 0; attempt < 3; attempt++) {
      const error = await pool`select ${[attempt]}::integer[] as got`.catch((reason) => reason);
      expect(isDatabaseUnavailable(error), String(error)).toBe(true);
    }
    await pool.end({ timeout: 1 });
  });

  test("before its login fails the query instead of trying for ever", async () => {
    let connections = 0;
    await using proxy = await listen((client) => {
      connections += 1;
      client.once("data", () => client.end());
    });
    const pool = createPool(proxy.url);
    const error = await pool`select 1`.catch((reason) => reason);
    expect(isDatabaseUnavailable(error), String(error)).toBe(true);
    expect(connections).toBe(1);
    await pool.end({ timeout: 1 });
  });

  test("while a query is about to be written is made anew for the next one", async () => {
    const made: Socket[] = [];
    const make = () => {
      const socket = connect(socketOf(database));
      made.push(socket);
      return socket;
    };
    const url = new URL(database.url);
    url.search = "";
    const options = { max: 1, connect_timeout: 2, fetch_types: false, backoff: () => 0, socket: make };
    const sql = postgres(url.href, options as postgres.Options<Record<string, never>>);
    await sql`select 1`;
    for (let time = 1; time <= 3; time++) {
      made.at(-1)?.destroy();
      // The end is told after what runs now (libuv's phases "check" and "close callbacks").
      await new Promise((resolve) => setImmediate(resolve));
      const lost = await sql`select 1`.catch((reason) => reason);
      expect(lost).toMatchObject({ code: "CONNECTION_CLOSED" });
      expect(await sql`select ${time}::int as got`).toEqual([{ got: time }]);
    }
    await sql.end({ timeout: 1 });
  });

  test("while a query runs is not blamed on the next one", async () => {
    await using pool = openSingle();
    const running = pool`select pg_sleep(20)`.catch((reason) => reason);
    await terminate("sleep");
    expect(isDatabaseUnavailable(await running)).toBe(true);
    expect(await pool`select 1 as got`).toEqual([{ got: 1 }]);
  });

  test("while a statement of a transaction runs ends the transaction, and nothing else", async () => {
    await using pool = openSingle();
    const running = pool.begin((sql) => sql`select pg_sleep(20)`).catch((reason) => reason);
    await terminate("sleep");
    expect(isDatabaseUnavailable(await running)).toBe(true);
    expect(await pool.begin((sql) => sql`select 1 as got`)).toEqual([{ got: 1 }]);
  });

  test("between two statements of a transaction takes all of them, also those that follow", async () => {
    await using pool = openSingle();
    await pool`create table steps (step text)`;
    const left: unknown[] = [];
    const outcome = await pool
      .begin(async (sql) => {
        await sql`insert into steps values ('before')`;
        await terminate("insert into steps");
        // The connection is made anew, for somebody else, while this transaction still has something to do.
        await vi.waitFor(async () => expect(await pool`select 1 as got`).toEqual([{ got: 1 }]));
        left.push(await sql`insert into steps values ('after')`.catch((reason) => reason));
      })
      .catch((reason) => reason);
    expect(isDatabaseUnavailable(outcome), String(outcome)).toBe(true);
    await vi.waitFor(() => expect(left).toHaveLength(1));
    expect(isDatabaseUnavailable(left[0]), String(left[0])).toBe(true);
    expect(await pool`select step from steps`).toEqual([]);
  });

  test("while channels are listened to is made anew, and each listener is told once, however long it took", async () => {
    let isAway = false;
    const clients = new Set<Socket>();
    let refused = 0;
    await using proxy = await listen((client) => {
      if (isAway) refused += 1;
      if (isAway) return void client.destroy();
      clients.add(client);
      const upstream = connect(socketOf(database));
      upstream.on("error", () => {}).on("close", () => client.destroy());
      client.on("close", () => upstream.destroy());
      client.pipe(upstream).pipe(client);
    });
    const pool = createPool(proxy.url);
    const channels = ["one", "two", "three"];
    const told: string[] = [];
    const heard: string[] = [];
    for (const channel of channels) {
      const hear = (payload: string) => void heard.push(`${channel} ${payload}`);
      await pool.listen(channel, hear, () => told.push(channel));
    }
    isAway = true;
    for (const client of clients) client.destroy();
    await vi.waitFor(() => expect(refused).toBeGreaterThan(15), 20_000);
    isAway = false;
    await vi.waitFor(() => expect(told).toHaveLength(6), 20_000);
    for (const channel of channels) await database.pool.notify(channel, "again");
    await vi.waitFor(() => expect(heard.sort()).toEqual(channels.map((one) => `${one} again`).sort()));
    expect(told.sort()).toEqual([...channels, ...channels].sort());
    await pool.end({ timeout: 1 });
  });

  function openSingle() {
    const pool = createPool(database.url, { maxConnections: 1, applicationName: "lost" });
    return Object.assign(pool, { [Symbol.asyncDispose]: () => pool.end({ timeout: 1 }) });
  }

  /** Ends the connection of `openSingle` whose last statement has this in it. */
  async function terminate(statement: string): Promise<void> {
    await vi.waitFor(async () => {
      const ended = await database.pool`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'lost' and query like ${`%${statement}%`} and datname = current_database()`;
      expect(ended).toHaveLength(1);
    });
  }
});

function socketOf({ url }: TestDatabase): string {
  const { port, searchParams } = new URL(url);
  return `${searchParams.get("host")}/.s.PGSQL.${port}`;
}

/** In front of the database, or in its place. */
async function listen(serve: (client: Socket) => void) {
  const server = createServer((client) => serve(client.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(database.url);
  url.search = "";
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}
