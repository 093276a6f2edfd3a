/** The end of the HTTP server: answers that are on their way are finished, what stays open is cut. */
import { setTimeout as sleep } from "node:timers/promises";
import type { App } from "./app-type.ts";

/** How long answers that are being written may take. */
const ANSWER_GRACE_MS = 1000;
const LOOK_MS = 20;

/**
 * Lets tool calls finish for up to `maxCallsMs`, as their answers are yet to come, then answers that are being written;
 * then cuts event streams and idle connections.
 */
export async function closeApp(app: App, countCalls: () => number, maxCallsMs: number): Promise<void> {
  const untilMs = performance.now() + maxCallsMs;
  while (countCalls() > 0 && performance.now() < untilMs) await sleep(LOOK_MS);

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
