/** What the database has of one run that is frozen: written when it halts, given up when it goes on or is left. */

import { pauseFor, retryUntil, retryWhileAway } from "#api/db/retry.ts";
import { isStorageFull } from "#api/db/stored-bytes.ts";
import type { ModuleLogger } from "#sdk";
import type { CarriedRun, RunSnapshot, TrailCall } from "../model/records.ts";
import type { PreparedApproval } from "./approvals.ts";
import { type AskedApprovals, NOT_STORED, unavailable, type Waiter, type WaitingRequests } from "./asking.ts";
import type { CallJournal } from "./call-journal.ts";
import type { RunRecords } from "./run-records.ts";

const RETRY_MS = 2000;

export interface KeptPauseOptions {
  id: number;
  records: RunRecords;
  journal: CallJournal;
  asked: AskedApprovals;
  waiting: WaitingRequests;
  /** Aborts when nothing more may be written of the run. */
  over: AbortSignal;
  /** What is stored of the run itself. */
  describe(): Pick<CarriedRun, "usage" | "packages"> & {
    trail: readonly TrailCall[];
    snapshot(): RunSnapshot;
  };
  log: ModuleLogger;
}

export class KeptPause {
  readonly #options: KeptPauseOptions;
  #checkpoint: unknown = null;
  #isStored = false;
  #isReplayable = true;

  constructor(options: KeptPauseOptions) {
    this.#options = options;
  }

  /** False: the environment gave no checkpoint, or it was too large to be kept. */
  get isReplayable(): boolean {
    return this.#isReplayable;
  }

  /** The run was frozen anew. */
  begin(checkpoint: unknown): void {
    this.#checkpoint = checkpoint;
    this.#isStored = false;
  }

  /**
   * Stores the pause with what is asked for. `refused`: nothing was stored, and who asked is told; `gone`: the run was
   * ended meanwhile.
   */
  async store(fresh: readonly Waiter[]): Promise<"stored" | "refused" | "gone"> {
    const { records, journal, describe, waiting, over } = this.#options;
    const { trail, usage, packages } = describe();
    const approvals = fresh.map(({ approval }) => approval as PreparedApproval);
    const { record, kept } = journal.keep(this.#checkpoint, { approvals, trail, usage, packages }, (kept) =>
      retryWhileAway(() => records.pause(kept), over),
    );
    let stored: { replayable: boolean } | null;
    try {
      stored = await kept;
    } catch (error) {
      this.#refuse(fresh, error);
      if (waiting.size > 0) await pauseFor(RETRY_MS, over);
      return "refused";
    }
    if (over.aborted || stored === null) return "gone";
    this.#isReplayable = record.checkpoint !== null && stored.replayable;
    this.#isStored = true;
    this.#noteStored(fresh);
    return "stored";
  }

  /** For environments that cannot pause. False when the run is over. */
  async storeApprovals(fresh: readonly Waiter[]): Promise<boolean> {
    try {
      const { records, over } = this.#options;
      const approvals = fresh.map(({ approval }) => approval as PreparedApproval);
      const isThere = await retryWhileAway(() => records.storeApprovals(approvals), over);
      this.#noteStored(fresh);
      return isThere;
    } catch (error) {
      this.#refuse(fresh, error);
      return true;
    }
  }

  /** The run goes on. False when it is over. */
  async giveUp(): Promise<boolean> {
    const { records, asked } = this.#options;
    const { withdrawn } = asked;
    if (this.#isStored || withdrawn.length > 0) {
      if (!(await this.#retry(() => records.resume(withdrawn)))) return false;
    }
    asked.noteWithdrawn(withdrawn);
    this.#isStored = false;
    return true;
  }

  /** The run is left to a later child. False also when a person has decided meanwhile. */
  leave(): Promise<boolean> {
    const { records, journal, waiting, describe } = this.#options;
    return journal.whileClosed(() => this.#retry(() => records.detach(waiting.ids, describe().snapshot())));
  }

  #noteStored(waiters: readonly Waiter[]): void {
    for (const waiter of waiters) {
      waiter.isStored = true;
      this.#options.asked.noteStored(waiter.approval);
    }
  }

  #refuse(waiters: readonly Waiter[], error: unknown): void {
    const { asked, waiting, log, id } = this.#options;
    const refusal = isStorageFull(error)
      ? unavailable(`No person can be asked: ${error.message}`)
      : NOT_STORED;
    if (refusal === NOT_STORED)
      log.error({ err: error, processId: id }, "a request for approval could not be stored");
    for (const { approval } of waiters) {
      asked.withdraw(approval);
      waiting.settle(approval.id, { refusal });
    }
  }

  /** A frozen run has time. False when it is over. */
  async #retry(work: () => Promise<boolean>): Promise<boolean> {
    const { log, id, over } = this.#options;
    const done = await retryUntil(work, over, (error) =>
      log.error({ err: error, processId: id }, "a pause cannot be stored yet"),
    );
    return done === true && !over.aborted;
  }
}
