/**
 * Rejects requests before they reach a route: too many connections, new work while the server stops, everything while
 * the database is unreachable, and web pages from other origins in anonymous mode.
 */
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import rateLimit from "@fastify/rate-limit";
import type { FastifyRequest } from "fastify";
import { isLoopbackHost } from "../config.ts";
import { AppError } from "../errors.ts";
import type { App } from "./app-type.ts";

export interface Lifecycle {
  /** True after the first stop signal: no longer ready, but still accepting requests. */
  readonly leaving: boolean;
  /** True once new work is rejected, after load balancers have had time to deregister this server. */
  readonly draining: boolean;
  readonly drainingForMs: number;
  startLeaving(): void;
  startDraining(): void;
}

const SHUTDOWN_RETRY_SECONDS = 5;
const DATABASE_RETRY_SECONDS = 2;
const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];

export function createLifecycle(): Lifecycle {
  let leaving = false;
  let drainingSinceMs: number | null = null;
  return {
    get leaving() {
      return leaving;
    },
    get draining() {
      return drainingSinceMs !== null;
    },
    get drainingForMs() {
      return drainingSinceMs === null ? 0 : performance.now() - drainingSinceMs;
    },
    startLeaving() {
      leaving = true;
    },
    startDraining() {
      leaving = true;
      drainingSinceMs ??= performance.now();
    },
  };
}

/**
 * While leaving, closes connections after each response, so that clients open their next one to another server. While
 * draining, new work gets 503 `shutting_down` unless no other server can do it; reads continue.
 */
export function registerLifecycle(app: App, lifecycle: Lifecycle, isHandingOver: () => boolean): void {
  // Checked at the end of each response, to include requests that began before the signal.
  app.addHook("onSend", (_request, reply, _payload, done) => {
    if (lifecycle.leaving) reply.header("connection", "close");
    done();
  });
  app.addHook("onRequest", async (request) => {
    if (!lifecycle.draining || SAFE_METHODS.includes(request.method)) return;
    const { whileDraining } = request.routeOptions.config;
    if (whileDraining === true || (whileDraining === "elsewhere" && isHandingOver())) return;
    throw new AppError(
      "shutting_down",
      "The server is shutting down. Send the request again shortly, or to another server.",
      {
        retryAfterSeconds: SHUTDOWN_RETRY_SECONDS,
      },
    );
  });
}

/**
 * Fails with 503 `database_unavailable` instead of letting a request hang in a query that never returns. Call before
 * registering the routes.
 */
export function registerDatabaseGuard(app: App, database: { readonly reachable: boolean }): void {
  app.addHook("onRequest", async (request) => {
    const { config } = request.routeOptions;
    if (database.reachable || config.public || config.withoutDatabase || request.is404) return;
    throw new AppError(
      "database_unavailable",
      "The database cannot be reached at the moment. Try again shortly.",
      { retryAfterSeconds: DATABASE_RETRY_SECONDS },
    );
  });
}

/**
 * Use only in anonymous mode: any site may send a browser to 127.0.0.1 (cross-site requests), or point a domain there
 * (DNS rebinding). Programs such as curl send neither a foreign Host nor an Origin. Fails with 403 `forbidden`.
 */
export function registerLocalGuard(app: App): void {
  app.addHook("onRequest", async (request) => {
    const host = request.headers.host;
    if (host !== undefined && !isLocalName(hostNameOf(host))) {
      throw new AppError(
        "forbidden",
        "Without an API key this server answers only to the names localhost, 127.0.0.1 and [::1]. Use one of them, or set CYRNEL_API_KEY.",
      );
    }
    if (comesFromAnotherSite(request, host)) {
      throw new AppError(
        "forbidden",
        "Without an API key this server accepts no requests from web pages of other origins. Set CYRNEL_API_KEY, or call it from a program.",
      );
    }
  });
}

/**
 * Rejects NUL in paths and queries, because Postgres cannot store it; schemas reject it in bodies. Fails with 400
 * `invalid_request`.
 */
export function registerNulGuard(app: App): void {
  app.addHook("onRequest", async (request) => {
    if (!request.url.includes("%00")) return;
    throw new AppError(
      "invalid_request",
      "The path or the query of the request contains a NUL character (%00). Remove it.",
    );
  });
}

function comesFromAnotherSite(request: FastifyRequest, host = ""): boolean {
  const { origin } = request.headers;
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) return true;
  const site = request.headers["sec-fetch-site"];
  const isWrite = !SAFE_METHODS.includes(request.method);
  return isWrite && site !== undefined && site !== "same-origin" && site !== "none";
}

const isLocalName = (name: string) => LOCAL_NAMES.includes(name) || isLoopbackHost(name);
const LOCAL_NAMES = ["localhost", "127.0.0.1", "::1"];

function hostNameOf(host: string): string {
  const bracketed = /^\[([^\]]*)\](:\d+)?$/.exec(host);
  return bracketed?.[1] ?? host.replace(/:\d*$/, "");
}

const MAX_CONNECTIONS = 10_000;
const MIN_CONNECTIONS = 16;
/**
 * Descriptors reserved for everything but client connections: 60 for an idle server, 8 per run, and some for tools
 * and the database.
 */
const RESERVED_DESCRIPTORS = 160;
/** Minimum for startup. With fewer descriptors, the server could not serve several runs and clients at once. */
export const MIN_DESCRIPTORS = 256;

/** Returns this process's open file limit, or null if the system does not report it (no /proc). */
export function readDescriptorLimit(): number | null {
  try {
    const found = /^Max open files +(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
    if (found === undefined) return null;
    return found === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(found);
  } catch {
    return null;
  }
}

/** Keeps half of the descriptors, and at least `RESERVED_DESCRIPTORS`, free of client connections. */
export function countAllowedConnections(descriptors: number | null): number {
  if (descriptors === null) return MAX_CONNECTIONS;
  const reserved = Math.max(RESERVED_DESCRIPTORS, Math.ceil(descriptors / 2));
  return Math.max(MIN_CONNECTIONS, Math.min(MAX_CONNECTIONS, descriptors - reserved));
}

/**
 * Limits each address to a quarter of all connections without a valid key. Beyond that, its oldest such connection is
 * closed, so a client that sends its request at once gets in even during a flood.
 */
export function registerConnectionLimits(app: App): void {
  const max = countAllowedConnections(readDescriptorLimit());
  const maxUnknown = Math.ceil(max / 4);
  const unknown = new Map<string, Set<Socket>>();
  app.server.maxConnections = max;
  app.server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress;
    if (address === undefined) return;
    const sockets = unknown.get(address) ?? new Set();
    unknown.set(address, sockets.add(socket));
    socket.once("close", () => forget(address, socket));
    if (sockets.size <= maxUnknown) return;
    const [oldest] = sockets;
    if (oldest === undefined) return;
    forget(address, oldest);
    oldest.destroy();
  });
  app.addHook("onRequest", async (request) => {
    const { socket } = request.raw;
    if (request.caller !== null && socket.remoteAddress !== undefined) forget(socket.remoteAddress, socket);
  });

  function forget(address: string, socket: Socket): void {
    const sockets = unknown.get(address);
    if (sockets?.delete(socket) && sockets.size === 0) unknown.delete(address);
  }
}

/**
 * Limits requests per client and time window, if configured. Counts a request before its key is checked, so guessing
 * keys is limited too. A client is a key at one address, or an address without a key. Health checks and other
 * replicas do not count.
 */
export async function registerRateLimit(
  app: App,
  limit: { max: number; windowMs: number } | null,
): Promise<void> {
  if (limit === null) return;
  await app.register(rateLimit, {
    global: false,
    max: limit.max,
    timeWindow: limit.windowMs,
    keyGenerator: nameClient,
  });
  const count = app.createRateLimit();
  app.addHook("onRequest", async (request, reply) => {
    if (/^\/(health|internal)\b/.test(request.routeOptions.url ?? "")) return;
    const result = await count(request);
    if (result.isAllowed) return;
    // The three-header form that most clients read:
    // https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
    reply.header("ratelimit-limit", result.max);
    reply.header("ratelimit-remaining", result.remaining);
    reply.header("ratelimit-reset", result.ttlInSeconds);
    if (!result.isExceeded) return;
    throw new AppError(
      "rate_limited",
      `Too many requests: at most ${result.max} in ${limit.windowMs} ms. Wait and try again.`,
      {
        retryAfterSeconds: Math.max(1, result.ttlInSeconds),
      },
    );
  });
}

function nameClient(request: FastifyRequest): string {
  return `${request.caller?.id ?? ""}@${request.ip}`;
}
