/** The end of the HTTP server: answers that are on their way are finished, what stays open is cut. */
import { setTimeout as sleep } from "node:timers/promises";
import type { App } from "./app-type.ts";

/** How long answers that are being written may take. */
const ANSWER_GRACE_MS = 1000;

/** Lets answers finish, then cuts event streams and idle connections. */
export async function closeApp(app: App): Promise<void> {
  const closing = app.close();
  const done = new AbortController();
  const late = sleep(ANSWER_GRACE_MS, undefined, { signal: done.signal }).then(
    () => app.server.closeAllConnections(),
    () => {},
  );
  await closing;
  done.abort();
  await late;
}
