/** What we ask of the driver beyond queries: arrays as they are, and connections that end without ending the server. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ARRAY_TYPES } from "#api/db/arrays.ts";
import { createPool, isDatabaseUnavailable } from "#api/db/pool.ts";
import { createTestDatabase, type TestDatabase } from "./harness/database.ts";

/** The message ReadyForQuery of an idle connection (PostgreSQL, "Message Formats"). */
const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

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
  let proxy: Server;
  beforeEach(async () => {
    strays.length = 0;
    process.on("unhandledRejection", onStray);
    proxy = createServer(endAfterLogin).listen(0, "127.0.0.1");
    await once(proxy, "listening");
  });
  afterEach(async () => {
    process.off("unhandledRejection", onStray);
    proxy.close();
    await once(proxy, "close");
  });

  test("right after it was made ends nothing but the query that asked for it", async () => {
    const url = new URL(database.url);
    url.search = "";
    url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const pool = createPool(url.href);
    for (let attempt = 0; attempt < 3; attempt++) {
      const error = await pool`select ${[attempt]}::integer[] as got`.catch((reason) => reason);
      expect(isDatabaseUnavailable(error), String(error)).toBe(true);
    }
    await pool.end({ timeout: 1 });
    // A rejection that nobody has taken is told at the end of a turn.
    await new Promise((resolve) => setImmediate(resolve));
    expect(strays).toEqual([]);
  });

  /** In front of the database: resets the connection at the first query after the login. */
  function endAfterLogin(client: Socket): void {
    const { port, searchParams } = new URL(database.url);
    const upstream = connect(`${searchParams.get("host")}/.s.PGSQL.${port}`);
    let isReady = false;
    upstream.on("error", () => {}).on("close", () => client.destroy());
    upstream.on("data", (answer: Buffer) => {
      client.write(answer);
      isReady ||= answer.includes(READY_FOR_QUERY);
    });
    client.on("error", () => {}).on("close", () => upstream.destroy());
    client.on("data", (asked) => (isReady ? client.resetAndDestroy() : upstream.write(asked)));
  }
});
