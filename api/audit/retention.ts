/** Removes audit records past their time, by the one function of the database that may. */
import type { Db } from "#api/db/pool.ts";
import { removeInBatches, type Sweep, startSweeps } from "#api/db/sweeps.ts";
import { removeOldAuditRows } from "./store.ts";

const SWEEP_INTERVAL_MS = 60 * 60_000;
const BATCH_RECORDS = 1000;

export interface AuditRetentionOptions {
  /** Null: kept for ever. */
  retentionDays: number | null;
  log: Sweep["log"];
  /** Called once per sweep, also without `retentionDays`. */
  alsoSweep: () => Promise<void>;
}

/** One sweep; returns how many records it removed. Stops early when the signal aborts. */
export function sweepAudit(db: Db, days: number, signal?: AbortSignal): Promise<number> {
  return removeInBatches((maxRows) => removeOldAuditRows(db, days, maxRows), BATCH_RECORDS, signal);
}

export function startAuditRetention(db: Db, options: AuditRetentionOptions): AsyncDisposable {
  const { retentionDays, log, alsoSweep } = options;
  return startSweeps(db, {
    name: "audit",
    everyMs: SWEEP_INTERVAL_MS,
    what: "audit records",
    log,
    async remove(signal) {
      await alsoSweep();
      return retentionDays === null ? 0 : sweepAudit(db, retentionDays, signal);
    },
  });
}
