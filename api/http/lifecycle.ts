/** Whether the server takes new work. Turned once, when it starts to shut down. */
import { AppError } from "../errors.ts";
import type { App } from "./app-type.ts";

export interface Lifecycle {
  /** True from the first stop signal on. */
  readonly draining: boolean;
  startDraining(): void;
}

const RETRY_SECONDS = 5;
const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];

export function createLifecycle(): Lifecycle {
  let draining = false;
  return {
    get draining() {
      return draining;
    },
    startDraining() {
      draining = true;
    },
  };
}

/** While draining: reading goes on, new work answers 503 `shutting_down`, connections are not kept. */
export function registerLifecycle(app: App, lifecycle: Lifecycle): void {
  app.addHook("onRequest", async (request, reply) => {
    if (!lifecycle.draining) return;
    reply.header("connection", "close");
    if (SAFE_METHODS.includes(request.method) || request.routeOptions.config.whileDraining) return;
    throw new AppError(
      "shutting_down",
      "The server is shutting down. Send the request again shortly, or to another server.",
      {
        retryAfterSeconds: RETRY_SECONDS,
      },
    );
  });
}
