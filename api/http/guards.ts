/**
 * What is refused before a route looks at a request: new work while the server stops, everything while the database does
 * not answer, and web pages of other origins where no key is asked for.
 */

import type { FastifyRequest } from "fastify";
import { isLoopbackHost } from "../config.ts";
import { AppError } from "../errors.ts";
import type { App } from "./app-type.ts";

export interface Lifecycle {
  /** True from the first stop signal on: not ready any more, and still taking what it is sent. */
  readonly leaving: boolean;
  /** True when it takes nothing new: after the time in which load balancers take it out. */
  readonly draining: boolean;
  /** Since when, in milliseconds. */
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
 * While leaving: connections are not kept, so that clients open their next one to another server. While draining: new work
 * answers 503 `shutting_down`, but for what other servers do in place of this one; reading goes on.
 */
export function registerLifecycle(app: App, lifecycle: Lifecycle, isHandingOver: () => boolean): void {
  // At the end of each answer, so that requests from before the signal are among them.
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

/** For routes registered after it: no request hangs in a query that is never answered. 503 `database_unavailable`. */
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
 * Only for anonymous mode: any site may send a browser to 127.0.0.1 (cross-site requests), or point its own name there (DNS
 * rebinding). Programs like curl send neither a foreign Host nor an Origin. 403 `forbidden`.
 */
export function registerLocalGuard(app: App): void {
  app.addHook("onRequest", async (request) => {
    const host = request.headers.host;
    if (host === undefined || !isLoopbackHost(hostNameOf(host))) {
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

function comesFromAnotherSite(request: FastifyRequest, host: string): boolean {
  const { origin } = request.headers;
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) return true;
  const site = request.headers["sec-fetch-site"];
  const isWrite = !SAFE_METHODS.includes(request.method);
  return isWrite && site !== undefined && site !== "same-origin" && site !== "none";
}

/** `Host` without its port; brackets of an IPv6 address removed. */
function hostNameOf(host: string): string {
  const bracketed = /^\[([^\]]*)\](:\d+)?$/.exec(host);
  return bracketed?.[1] ?? host.replace(/:\d*$/, "");
}
