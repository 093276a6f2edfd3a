/**
 * Expires approvals whose time is over or whose tool was removed. The script is notified as if the request were
 * denied.
 */
import type { ApprovalsOptions, WaitingProcesses } from "./ports.ts";
import { type ApprovalRow, expireApproval, listDecided, listDue, listOrphans } from "./store.ts";

const MAX_SWEPT = 200;

export interface Expiry {
  /** Expires due approvals and catches up on decisions whose notification was lost. */
  sweep(): Promise<void>;
  /** Call when a service or its tools have changed. */
  expireOrphans(serviceId: string): Promise<void>;
}

export function createExpiry({ pool, processes, audit }: ApprovalsOptions): Expiry {
  async function expireAll(
    found: readonly { id: string; processId: number }[],
    reason: string,
  ): Promise<void> {
    for (const { id, processId } of found) {
      const { row, isQueued } = await pool.begin(async (db) => {
        await processes.lockForDecision(db, processId);
        const row = await expireApproval(db, id, reason);
        return { row, isQueued: row !== null && (await processes.requeue(db, processId, id)) };
      });
      if (row === null) continue;
      audit.record({
        actor: { kind: "system" },
        action: "approval.expire",
        object: { kind: "approval", id },
        outcome: "ok",
        processId,
      });
      announceDecision(processes, row, isQueued);
    }
  }

  return {
    async sweep() {
      await expireAll(await listDue(pool, MAX_SWEPT), "No person decided in time.");
      await expireAll(await listOrphans(pool, null, MAX_SWEPT), "The tool was removed.");
      const waiting = processes.waitingApprovals();
      if (waiting.length === 0) return;
      for (const row of await listDecided(pool, waiting)) processes.recordApproval(row.processId, row);
    },
    async expireOrphans(serviceId) {
      await expireAll(await listOrphans(pool, serviceId, MAX_SWEPT), "The tool was removed.");
    },
  };
}

/** Notifies runs on this server directly, in addition to the database notification, so that they resume at once. */
export function announceDecision(
  processes: WaitingProcesses,
  row: Pick<ApprovalRow, "id" | "processId" | "state" | "reason">,
  isQueued: boolean,
): void {
  processes.recordApproval(row.processId, row);
  if (isQueued) processes.recordRequeued(row.processId);
}
