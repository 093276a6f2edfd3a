/**
 * Database transactions for the pauses of one run, built from the statements in store/pauses.ts. All content is
 * sealed.
 */

import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { zstdCompress } from "node:zlib";
import type { Db, Fragment, Pool } from "#api/db/pool.ts";
import { retryWhileAway } from "#api/db/retry.ts";
import { isStorageFull } from "#api/db/stored-bytes.ts";
import type { KeptValue, Vault } from "#api/secrets/vault.ts";
import type { PackageUse, Usage } from "#sdk";
import type {
  CallReply,
  JournaledCall,
  KeptAnswer,
  PreparedApproval,
  RestoredCall,
  SavedAnswer,
  TrailCall,
} from "../model/calls.ts";
import type { ProcessFiles } from "../model/files.ts";
import type { RunSnapshot } from "../model/records.ts";
import {
  beginCall,
  countPaused,
  detachRun,
  endCall,
  keepCalls,
  keepPackages,
  keepSaved,
  lockProcess,
  markAsked,
  pauseRun,
  resumeRun,
  storeSnapshot,
} from "../store/pauses.ts";
import type { ApprovalStore } from "./approvals.ts";

const compress = promisify(zstdCompress);
const MIN_COMPRESSED_CHARACTERS = 16 * 1024;
/** While fewer processes than this are paused, a cached count is used. */
const PLENTY_OF_ROOM = 500;
const TRUST_MS = 500;

export type Sealer = Pick<Vault, "seal" | "keep" | "recall">;

/** Checks whether one more process may pause. While there is plenty of room, the count is cached for a moment. */
export interface PauseRoom {
  hasRoom(): Promise<boolean>;
}

export function createPauseRoom(pool: Pool, maxPaused: number): PauseRoom {
  let trustedUntilMs = 0;
  return {
    async hasRoom() {
      if (performance.now() < trustedUntilMs) return true;
      const room = maxPaused - (await countPaused(pool, maxPaused));
      if (room >= PLENTY_OF_ROOM) trustedUntilMs = performance.now() + TRUST_MS;
      return room > 0;
    },
  };
}

export interface PauseStorage {
  pool: Pool;
  sealer: Sealer;
  approvalStore: ApprovalStore;
  room: PauseRoom;
  files: Pick<ProcessFiles, "store" | "open" | "maxStoredBytes" | "onFull">;
}

export interface KeptRun {
  checkpoint: unknown;
  trail: readonly TrailCall[];
}

export interface RunName {
  id: number;
  /** Claim of this child. */
  claim: string;
  /** Claim of the first child. */
  run: string;
}

export function createPauseStore(storage: PauseStorage, name: RunName): PauseStore {
  const { pool, sealer, approvalStore } = storage;
  const { id } = name;
  const now = <T>(work: (db: Db) => Promise<T>): Promise<T> => pool.begin(work) as Promise<T>;

  /** Contents must be stored before the rows that reference them. */
  async function storeSaved(saved: readonly SavedAnswer[]): Promise<KeptAnswer[]> {
    if (saved.length === 0) return [];
    const stored = await storage.files.store(saved, id).catch(reportFull);
    return stored.map((file, index) => ({ ...file, seq: (saved[index] as SavedAnswer).seq }));
  }

  async function keep(db: Db, answers: readonly KeptAnswer[]): Promise<void> {
    await keepSaved(db, id, answers, storage.files.maxStoredBytes).catch(reportFull);
  }

  function reportFull(error: unknown): never {
    if (isStorageFull(error)) storage.files.onFull?.();
    throw error;
  }

  return {
    async pause({ checkpoint, approvals, calls, unanswered, saved, trail, usage, packages }) {
      const kept = await storeSaved(saved);
      const sealed = await sealCheckpoint(sealer, id, { checkpoint, trail });
      const replayable = sealed !== null;
      const answered = calls.filter(({ reply }) => reply !== null);
      const replies = answered.map(({ seq, reply }) => sealReply(sealer, id, seq, reply as CallReply));
      return now(async (db) => {
        if (kept.length > 0) {
          // Sent separately: if the store is full, the failure of this statement is the one to report.
          await lockProcess(db, id);
          await keep(db, kept);
        }
        // Sent together and executed in this order.
        const [, isPaused] = await Promise.all([
          lockProcess(db, id),
          pauseRun(db, name, { replayable, usage, unanswered }),
          keepCalls(db, id, calls, unanswered),
          ...(packages.length === 0 ? [] : [keepPackages(db, id, packages)]),
          ...answered.map(({ seq }) => endCall(db, id, seq)),
          sealer.keep(db, [...(sealed === null ? [] : [sealed]), ...replies]),
          approvalStore.store(db, approvals),
        ]);
        if (!isPaused) throw new RunIsGone();
        return { replayable };
      }).catch((error) => {
        if (error instanceof RunIsGone) return null;
        throw error;
      });
    },
    async resume(withdrawn) {
      if (withdrawn.length === 0) return resumeRun(pool, id, name.claim);
      return now(async (db) => {
        await lockProcess(db, id);
        await approvalStore.withdraw(db, withdrawn, "It could not be stored for the run.");
        return resumeRun(db, id, name.claim);
      });
    },
    detach: (waiting, snapshot) =>
      now(async (db) => {
        await lockProcess(db, id);
        const outcome = await detachRun(db, name, waiting, snapshot);
        if (outcome !== "left") return outcome === "gone";
        await storeSnapshot(db, id, snapshot);
        return true;
      }),
    async beginCall(call, approvalId, over) {
      const attempts = randomUUID();
      const use =
        approvalId === null ? null : (when: Fragment) => approvalStore.use(pool, approvalId, attempts, when);
      const { outcome, isUsed } = await retryWhileAway(() => beginCall(pool, name, call, use), over);
      if (outcome === "gone") return "gone";
      // A call that changes nothing may be repeated after a server died.
      return approvalId === null || isUsed || !call.destructive ? "begun" : "used";
    },
    async endCall(seq, reply, saved) {
      // The reply is stored even without the file: a replay fails there and repeats no call.
      await storeSaved(saved)
        .then((kept) => keep(pool, kept))
        .catch((error) => {
          if (!isStorageFull(error)) throw error;
        });
      await sealer.keep(pool, [sealReply(sealer, id, seq, reply)], endCall(pool, id, seq));
    },
    useAnswer: (approvalId, over) => useAnswer(storage, approvalId, over),
    hasRoom: () => storage.room.hasRoom(),
    storeApprovals: (approvals) =>
      now(async (db) => {
        await lockProcess(db, id);
        if (!(await markAsked(db, id, name.claim))) return false;
        await approvalStore.store(db, approvals);
        return true;
      }),
  };
}

async function useAnswer(
  { pool, approvalStore }: PauseStorage,
  approvalId: string,
  over: AbortSignal,
): Promise<unknown> {
  const use = randomUUID();
  const read = () =>
    Promise.all([approvalStore.readAnswer(pool, approvalId), approvalStore.use(pool, approvalId, use)]);
  const [answer] = await retryWhileAway(read, over);
  return answer;
}

async function sealCheckpoint(sealer: Sealer, id: number, kept: KeptRun): Promise<KeptValue | null> {
  if (kept.checkpoint === null) return null;
  try {
    return sealLog(sealer, String(id), await pack(kept));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function sealReply(sealer: Sealer, id: number, seq: number, reply: CallReply): KeptValue {
  try {
    return sealLog(sealer, `${id}:${seq}`, reply);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const message = "The result is too large to be stored for a replay of the run.";
    const failure = { name: "ToolError", message, code: "result_too_large" };
    return sealLog(sealer, `${id}:${seq}`, { ok: false, error: failure });
  }
}

class RunIsGone extends Error {
  override readonly name = "RunIsGone";
}

function sealLog(sealer: Sealer, id: string, value: unknown): KeptValue {
  const owner = { kind: "call_log" as const, id };
  return { owner, sealed: sealer.seal(owner, value) };
}

async function pack(value: unknown): Promise<unknown> {
  const text = JSON.stringify(value);
  if (text.length < MIN_COMPRESSED_CHARACTERS) return { json: text };
  return { zstd: (await compress(text)).toString("base64") };
}

export interface PauseRecord {
  /** Checkpoint from the environment, or null if the run cannot be replayed. */
  checkpoint: unknown;
  approvals: readonly PreparedApproval[];
  /** Calls in progress, and calls whose reply the checkpoint lacks. */
  calls: readonly RestoredCall[];
  /** Requests whose reply the checkpoint lacks. Only their calls are retained. */
  unanswered: readonly number[];
  /** Saved answers whose contents are not stored yet. */
  saved: readonly SavedAnswer[];
  trail: readonly TrailCall[];
  usage: Usage;
  packages: readonly PackageUse[];
}

/** Stores pauses. All methods reject if the database fails, and resolve with `false` if the run no longer exists. */
export interface PauseStore {
  /**
   * Stores approvals, checkpoint, calls and state in one transaction. `replayable` is false without a storable
   * checkpoint.
   */
  pause(record: PauseRecord): Promise<{ replayable: boolean } | null>;
  resume(withdrawn: readonly string[]): Promise<boolean>;
  /** Also resolves with false if an approver decided meanwhile; the run then continues here. */
  detach(waiting: readonly string[], snapshot: RunSnapshot): Promise<boolean>;
  /**
   * Marks `approvalId` as used in the same transaction. Resolves with `used` if an earlier call that may have been
   * carried out used it. Retries for some seconds, unless `over` aborts.
   */
  beginCall(
    call: JournaledCall,
    approvalId: string | null,
    over: AbortSignal,
  ): Promise<"begun" | "used" | "gone">;
  endCall(seq: number, reply: CallReply, saved: readonly SavedAnswer[]): Promise<void>;
  /** Retries for some seconds, unless `over` aborts. */
  useAnswer(approvalId: string, over: AbortSignal): Promise<unknown>;
  hasRoom(): Promise<boolean>;
  /** For environments that cannot pause: the run and its clock continue. */
  storeApprovals(approvals: readonly PreparedApproval[]): Promise<boolean>;
}
