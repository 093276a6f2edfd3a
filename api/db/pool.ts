/**
 * Connections to Postgres: the pool every feature shares and the types its stores take.
 * The only file that calls the driver's constructor; holds no SQL of any feature.
 */

import type { PostgresType } from "postgres";
import postgres from "postgres";
import { parse } from "postgres-array";
import { DEFAULT_TIMINGS, type Timings } from "#api/config/timings.ts";

/** `bigint` columns arrive as numbers: ids and byte counts stay far below 2^53. */
interface ColumnTypes extends Record<string, unknown> {
  bigint: number;
}

/** The shared pool. Services use `begin` for transactions; stores take `Db`. */
export type Pool = postgres.Sql<ColumnTypes>;
/** What every store function takes first: the pool or a transaction. */
export type Db = postgres.ISql<ColumnTypes>;

/** A part of a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

export interface PoolOptions {
  /** Connections at most. Default 10. */
  maxConnections?: number;
  /** How long one attempt to connect may take before the query fails. Default 3000. */
  connectTimeoutMs?: number;
  /** Shown in `pg_stat_activity`. */
  applicationName?: string;
  /**
   * Timings that differ from the defaults. `statementTimeoutMs` 0 is no limit. A connection whose answer has not come
   * `answerMarginMs` after that is closed: the query fails, and the next one gets a new connection.
   */
  timings?: Partial<PoolTimings>;
  /** Called when a connection of the pool has ended, also on purpose. */
  onClose?: () => void;
  /** Keeps connections for ever; for session locks. */
  permanent?: boolean;
  /** Closes a connection that was not used for so long: each is a process of some megabytes. Default: none is closed for that. */
  idleTimeoutMs?: number;
  /** Told what the server says besides its answers. Default: ignored. */
  onNotice?: (message: string) => void;
}

export type PoolTimings = Pick<
  Timings,
  "statementTimeoutMs" | "answerMarginMs" | "waitTimeoutMs" | "listenCheckMs"
>;

/**
 * Opens no connection yet: the first query does. Queries fail within `connectTimeoutMs` while the server is away,
 * and work again as soon as it is back. Every query settles: it waits for a connection for `waitTimeoutMs` at most, and for
 * its answer as long as the statement may take, and a little more.
 */
export function createPool(databaseUrl: string, options: PoolOptions = {}): Pool {
  const timings = { ...DEFAULT_TIMINGS, ...options.timings };
  const { statementTimeoutMs, answerMarginMs, waitTimeoutMs, listenCheckMs } = timings;
  const { url, socketDirectory } = splitSocketDirectory(databaseUrl);
  const pool = postgres(url, {
    ...(socketDirectory === null ? {} : { host: socketDirectory }),
    max: options.maxConnections ?? 10,
    connect_timeout: (options.connectTimeoutMs ?? 3000) / 1000,
    query_timeout: statementTimeoutMs === 0 ? null : (statementTimeoutMs + answerMarginMs) / 1000,
    wait_timeout: waitTimeoutMs / 1000,
    listen_check: listenCheckMs / 1000,
    // One after the other on each connection: an answer that is lost must not be taken for that of the next query.
    max_pipeline: 0,
    // The driver's own back-off grows to 20 s, and queries wait it out: a request has to be answered before that.
    backoff: () => 0.05,
    ...(options.idleTimeoutMs === undefined ? {} : { idle_timeout: options.idleTimeoutMs / 1000 }),
    ...(options.permanent ? { max_lifetime: null, idle_timeout: 0 } : {}),
    ...(options.onClose ? { onclose: options.onClose } : {}),
    onnotice: ({ message }) => options.onNotice?.(message ?? ""),
    fetch_types: false,
    types: {
      ...ARRAY_TYPES,
      bigint: {
        to: 20,
        from: [20],
        serialize: (value: number) => String(value),
        parse: (raw: string) => Number(raw),
      },
    },
    connection: {
      application_name: options.applicationName ?? "cyrnel",
      statement_timeout: statementTimeoutMs,
    },
  }) as Pool;
  // The released driver knows no such option: it would lose queries and never answer others.
  if (!("wait_timeout" in pool.options))
    throw new Error("The package postgres lacks the patch of this project. Run: node patches/apply.js");
  return pool;
}

/**
 * A URL may name a Unix socket the way libpq does: `postgres://user:pw@localhost/db?host=/directory`. The driver
 * knows that only as an option.
 */
function splitSocketDirectory(databaseUrl: string): { url: string; socketDirectory: string | null } {
  const url = new URL(databaseUrl);
  const host = url.searchParams.get("host");
  if (!host?.startsWith("/")) return { url: databaseUrl, socketDirectory: null };
  url.searchParams.delete("host");
  return { url: url.href, socketDirectory: host };
}

const UNREACHABLE_CODES = new Set([
  "CONNECT_TIMEOUT",
  "QUERY_TIMEOUT",
  "POOL_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  // Postgres: shutting down, crashed, starting up, turned read-only by a fail-over; a statement that took too long, as
  // behind a lock.
  "57P01",
  "57P02",
  "57P03",
  "25006",
  "57014",
  "55P03",
]);

/**
 * Whether an error says that the database could not be reached, did not answer in time or has no room (its disk, its memory,
 * its connections), as opposed to a statement it refused.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return false;
  if (UNREACHABLE_CODES.has(error.code) || /^(?:08|53)\w{3}$/.test(error.code)) return true;
  // A Unix socket that is not there.
  return error.code === "ENOENT" && "syscall" in error && error.syscall === "connect";
}

/** Whether a statement failed for the data it was given (a value or a constraint), so that it will fail each time. */
export function isRefusedData(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^2[23]/.test(String(error.code));
}

/**
 * How arrays travel, by the name of the type. By default the driver asks each new connection for all array types there
 * are, with a query whose failure nothing can catch (porsager/postgres#1192): a database that goes away at that moment
 * would end the server. So it is told not to ask, and the arrays in use are declared here: those of
 * other types have to be before a statement or a column may have them. The identifiers are fixed by Postgres (src/include/catalog/pg_type.dat).
 */
export const ARRAY_TYPES: Readonly<Record<string, PostgresType>> = {
  "text[]": declare(1009, (element) => element),
  "integer[]": declare(1007, Number),
  "bigint[]": declare(1016, Number),
};

function declare(oid: number, read: (element: string) => unknown): PostgresType {
  return { to: oid, from: [oid], serialize: write, parse: (raw: string) => parse(raw, read) };
}

/**
 * The text of an array of one dimension (PostgreSQL, "Array Input and Output Syntax"). Throws for anything else, which
 * would be stored as a text that was not meant: the types of a statement's values do not tell.
 */
function write(elements: readonly unknown[]): string {
  return `{${elements.map(writeElement).join(",")}}`;
}

function writeElement(element: unknown): string {
  if (element === null) return "NULL";
  if (typeof element !== "string" && typeof element !== "number") {
    throw new TypeError(`An array of a statement holds texts, numbers and null; found ${typeof element}.`);
  }
  return `"${String(element).replace(/["\\]/g, "\\$&")}"`;
}
