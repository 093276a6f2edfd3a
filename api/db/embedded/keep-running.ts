/**
 * Starts an embedded Postgres that has died again: killed for its memory, or crashed. After a few times in a while it is
 * given up with a sentence for the operator, because something is wrong that a further start does not mend.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EmbeddedPostgres } from "../embedded.ts";

export interface KeepRunningOptions {
  onStartedAgain?: () => void;
  onGone?: (reason: string) => void;
}

const LOOK_INTERVAL_MS = 500;
const MAX_STARTS = 5;
const WINDOW_MS = 600_000;
const FIRST_PAUSE_MS = 250;

/** Looks only while the database does not answer. Ends when it is disposed of, or when it has given up. */
export function keepRunning(
  postgres: Pick<EmbeddedPostgres, "isRunning" | "startAgain">,
  database: { readonly reachable: boolean },
  { onStartedAgain, onGone }: KeepRunningOptions,
): AsyncDisposable {
  const stopping = new AbortController();
  const { signal } = stopping;
  const pause = (ms: number) => sleep(ms, undefined, { signal, ref: false }).catch(() => {});
  let starts: number[] = [];
  let failure: unknown = null;

  async function startAgain(): Promise<void> {
    await pause(FIRST_PAUSE_MS * 2 ** starts.length);
    if (signal.aborted) return;
    starts.push(performance.now());
    try {
      await postgres.startAgain();
      onStartedAgain?.();
    } catch (error) {
      failure = error;
    }
  }

  async function keep(): Promise<void> {
    while (!signal.aborted) {
      await pause(LOOK_INTERVAL_MS);
      if (signal.aborted || database.reachable || (await postgres.isRunning())) continue;
      starts = starts.filter((startedMs) => performance.now() - startedMs < WINDOW_MS);
      if (starts.length < MAX_STARTS) {
        await startAgain();
        continue;
      }
      const last = failure instanceof Error ? ` ${failure.message}` : "";
      onGone?.(
        `The embedded Postgres has died and was started ${MAX_STARTS} times within ${WINDOW_MS / 60_000} minutes without staying up.${last}`,
      );
      return;
    }
  }

  const kept = keep();
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await kept;
    },
  };
}
