/** The only file that creates Postgres clients. Contains no feature SQL. */

import type { PostgresType } from "postgres";
import postgres from "postgres";
import { parse } from "postgres-array";
import { DEFAULT_TIMINGS, type Timings } from "#api/config/timings.ts";

/** Returns `bigint` columns as numbers: ids and byte counts stay far below 2^53. */
interface ColumnTypes extends Record<string, unknown> {
  bigint: number;
}

/** Database pool. Services use its `begin` for transactions; stores take `Db`. */
export type Pool = postgres.Sql<ColumnTypes>;
/** The pool or a transaction; the first parameter of every store function. */
export type Db = postgres.ISql<ColumnTypes>;

export type Fragment = postgres.PendingQuery<postgres.Row[]>;

export interface PoolOptions {
  maxConnections?: number;
  /** Time limit for one connection attempt, after which the query fails. Default 3000. */
  connectTimeoutMs?: number;
  applicationName?: string;
  /**
   * Overrides defaults. A `statementTimeoutMs` of 0 means no limit. A connection that has not responded
   * `answerMarginMs` after the statement limit is closed: its query fails, and the next query gets a new connection.
   */
  timings?: Partial<PoolTimings>;
  onClose?: () => void;
  /** Never recycles connections, as session locks require. */
  permanent?: boolean;
  /**
   * Closes a connection after this idle time, because each is a Postgres process using several megabytes. Default:
   * never.
   */
  idleTimeoutMs?: number;
  onNotice?: (message: string) => void;
}

export type PoolTimings = Pick<
  Timings,
  "statementTimeoutMs" | "answerMarginMs" | "waitTimeoutMs" | "listenCheckMs"
>;

/**
 * Opens the first connection with the first query. Queries fail within `connectTimeoutMs` while the database is down,
 * and work again once it is back. Every query settles: it waits at most `waitTimeoutMs` for a connection, then at
 * most the statement limit plus a margin for the response.
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
    // Disable pipelining, so that a late response cannot be taken for that of the next query.
    max_pipeline: 0,
    // Override the driver's back-off, which grows to 20 s, longer than a request may wait.
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
  // Without this option the driver is not patched: it would lose queries and never settle others.
  if (!("wait_timeout" in pool.options))
    throw new Error("The package postgres lacks the patch of this project. Run: node patches/apply.js");
  return pool;
}

/**
 * Extracts a Unix socket from the URL, which may name one as in libpq:
 * `postgres://user:pw@localhost/db?host=/directory`. The driver accepts sockets only as an option.
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
  // Postgres is shutting down, crashed, starting up, or read-only after a failover; or a statement took too long,
  // perhaps waiting for a lock.
  "57P01",
  "57P02",
  "57P03",
  "25006",
  "57014",
  "55P03",
]);

/**
 * Returns whether the database was unreachable, too slow, or out of disk, memory or connections, as opposed to
 * rejecting a statement.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return false;
  if (UNREACHABLE_CODES.has(error.code) || /^(?:08|53)\w{3}$/.test(error.code)) return true;
  return error.code === "ENOENT" && "syscall" in error && error.syscall === "connect";
}

/**
 * Returns whether a statement failed because of its data (a value or a constraint), so that a retry would fail too.
 */
export function isRefusedData(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^2[23]/.test(String(error.code));
}

/**
 * Array types in use, with identifiers fixed by Postgres (src/include/catalog/pg_type.dat). By default the driver
 * asks each new connection for all array types, with a query whose failure cannot be caught (porsager/postgres#1192):
 * losing the database at that moment would end the server. Add a type here before a statement or column uses its
 * array.
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
 * Serializes a one-dimensional array (PostgreSQL, "Array Input and Output Syntax"). Throws for any other value, which
 * would be stored as unintended text because statement values carry no types.
 */
function write(elements: readonly unknown[]): string {
  return `{${elements.map(writeElement).join(",")}}`;
}

function writeElement(element: unknown): string {
  if (element === null) return "NULL";
  if (typeof element !== "string" && typeof element !== "number") {
    throw new TypeError(
      `An array of a statement may contain texts, numbers and null; found ${typeof element}.`,
    );
  }
  return `"${String(element).replace(/["\\]/g, "\\$&")}"`;
}
