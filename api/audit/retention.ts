/** Removes audit records past their time, in small batches, by the one function of the database that may. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "#api/db/pool.ts";
import { takeTurn } from "#api/db/turns.ts";
import { removeOldAuditRows } from "./store.ts";

const SWEEP_INTERVAL_MS = 60 * 60_000;
/** A little less than the interval, so that a server does not find its own last turn in the way. */
const TURN_MS = SWEEP_INTERVAL_MS * 0.9;
const BATCH_RECORDS = 1000;

export interface AuditRetentionOptions {
  /** Null: kept for ever. */
  retentionDays: number | null;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** Called once per sweep, whatever `retentionDays` says. */
  alsoSweep: () => Promise<void>;
}

/** One sweep; returns how many records it removed. Stops early when the signal aborts. */
export async function sweepAudit(db: Db, days: number, signal?: AbortSignal): Promise<number> {
  let removed = 0;
  for (;;) {
    const batch = await removeOldAuditRows(db, days, BATCH_RECORDS);
    removed += batch;
    if (batch < BATCH_RECORDS || signal?.aborted) return removed;
  }
}

/** Sweeps now and then, every hour over all servers, until disposed; disposing waits for the batch at hand. */
export function startAuditRetention(db: Db, options: AuditRetentionOptions): AsyncDisposable {
  const { retentionDays, log, alsoSweep } = options;
  const stopped = new AbortController();
  const { signal } = stopped;
  const sweeping = (async () => {
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      try {
        const isDue = (await takeTurn(db, "audit", TURN_MS)) || isFirst;
        if (isDue) await alsoSweep();
        const removed = retentionDays === null || !isDue ? 0 : await sweepAudit(db, retentionDays, signal);
        if (removed > 0) log.info({ removed }, "audit records were removed by retention");
      } catch (error) {
        if (!signal.aborted)
          log.warn({ err: error }, "the audit retention sweep failed; it is tried again later");
      }
      await sleep(SWEEP_INTERVAL_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await sweeping;
    },
  };
}
