/** What a server that was told to stop still takes, and that each of its answers ends its connection. */
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

const RETRY_SECONDS = 5;
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
        retryAfterSeconds: RETRY_SECONDS,
      },
    );
  });
}
