/** Answers at once while the database does not: a request must not hang in a query that nobody answers. */
import { AppError } from "../errors.ts";
import type { App } from "./app-type.ts";

const RETRY_SECONDS = 2;

/** For routes registered after it; 503 `database_unavailable`. */
export function registerDatabaseGuard(app: App, database: { readonly reachable: boolean }): void {
  app.addHook("onRequest", async (request) => {
    const { config } = request.routeOptions;
    if (database.reachable || config.public || config.withoutDatabase || request.is404) return;
    throw new AppError(
      "database_unavailable",
      "The database cannot be reached at the moment. Try again shortly.",
      { retryAfterSeconds: RETRY_SECONDS },
    );
  });
}
