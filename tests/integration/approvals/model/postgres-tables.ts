/** The tables of one process in a real Postgres, through the statements that the server uses. */
import { randomUUID } from "node:crypto";
import { createApprovalStore } from "#api/approvals/run-approvals.ts";
import { decideApproval, expireApproval, listApprovals } from "#api/approvals/store.ts";
import type { Pool } from "#api/db/pool.ts";
import { readRestoredRun } from "#api/processes/pausing/restored-run.ts";
import { createPauseStore } from "#api/processes/pausing/transactions.ts";
import { cancelQueued, changeHeldState, finishRun, insertProcess } from "#api/processes/store/changes.ts";
import { cancelDetached, lockProcess, recoverPausedRuns, requeueRun } from "#api/processes/store/pauses.ts";
import { claimQueued, endAbandonedRuns, isAbandoned } from "#api/processes/store/queue.ts";
import { readProcessRow } from "#api/processes/store/reads.ts";
import type { Vault } from "#api/secrets/vault.ts";
import type { Tables } from "./world.ts";

const NO_USAGE = { queuedMs: 0, startMs: 0, wallMs: 0, cpuMs: 0, peakMemoryBytes: 0, toolCalls: 0 };
const ENDINGS = {
  success: { exitState: "success", reason: "ok" },
  failed: { exitState: "failed", reason: "crashed" },
  canceled: { exitState: "canceled", reason: "killed" },
} as const;

export function createPostgresTables(pool: Pool, vault: Vault): Tables {
  const approvalStore = createApprovalStore(vault, 3_600_000);
  const storage = {
    pool,
    sealer: vault,
    approvalStore,
    room: { hasRoom: async () => true },
    files: { store: async () => [], open: () => [], maxStoredBytes: null },
  };
  let id = 0;
  return {
    approvalStore,
    async create() {
      const outcome = await insertProcess(
        pool,
        {
          code: "",
          timeoutMs: null,
          memoryMb: null,
          cpuMs: null,
          creator: { kind: "anonymous", keyId: null },
        },
        "queued",
        null,
      );
      if (outcome.kind !== "stored") throw new Error(outcome.kind);
      id = outcome.row.id;
      return id;
    },
    async claim() {
      const [row] = await claimQueued(pool, {
        environment: "model",
        replica: null,
        maxRows: 1,
        maxPerCaller: null,
      });
      return row ? { claim: row.claim as string, asked: row.asked } : null;
    },
    records: (name) => createPauseStore(storage, name),
    carry: (of, claim) => readRestoredRun(storage, { id: of, claim }),
    async finish(of, claim, exitState) {
      const ending = ENDINGS[exitState as keyof typeof ENDINGS];
      const row = await finishRun(pool, {
        id: of,
        claim,
        ...ending,
        error: null,
        memoryMb: null,
        usage: NO_USAGE,
        hasProgress: true,
        packages: [],
        warnings: [],
        stdout: Buffer.alloc(0),
        stderr: Buffer.alloc(0),
        levels: null,
        truncated: { stdout: false, stderr: false },
        output: "{}",
        outputs: 0,
        result: null,
        calls: [],
        artifacts: [],
      });
      return row !== null;
    },
    terminate: async (of, claim) => (await changeHeldState(pool, of, claim, "terminating")) !== null,
    cancel: async (of) => (await cancelQueued(pool, of)) !== null || cancelDetached(pool, of),
    decide: (approval, state) =>
      pool.begin(async (db) => {
        await lockProcess(db, id);
        const row =
          state === "expired"
            ? await expireApproval(db, approval, "late")
            : await decideApproval(db, approval, { state, by: randomUUID(), reason: null });
        return row && { isQueued: await requeueRun(db, id, approval) };
      }),
    async recover() {
      const nobody = { replica: null, unheld: null, maxSilentMs: null };
      await recoverPausedRuns(pool, isAbandoned(pool, nobody), true);
      await endAbandonedRuns(pool, null, nobody);
    },
    async read() {
      const row = await readProcessRow(pool, id);
      const all = await listApprovals(pool, { processId: id }, { from: null, limit: 200 });
      return {
        state: row?.state ?? "gone",
        exitState: row?.exitState ?? null,
        pending: row?.approvals ?? [],
        states: all.map((one) => [one.seq, one.state]),
      };
    },
  };
}
