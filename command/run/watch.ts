/** Tells when a file has changed, however an editor writes it: in place, or by putting another one there. */
import { watch } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";

/** Editors write in several steps. */
const SETTLE_MS = 100;

/** Resolves at the next change; rejects with the signal's reason. */
export async function waitForChange(path: string, signal: AbortSignal): Promise<void> {
  const name = basename(path);
  const watching = new AbortController();
  const events = watch(dirname(resolve(path)), {
    signal: AbortSignal.any([signal, watching.signal]),
  });
  try {
    for await (const { filename } of events) if (filename === null || filename === name) break;
  } finally {
    watching.abort();
  }
  await new Promise((settle) => setTimeout(settle, SETTLE_MS));
}
