/**
 * The calls of a run that asks people, in the database: from its first pause on each is stored before its adapter is
 * called, and its reply before the script gets it. What happened before is in the log of the run (live/calls.ts).
 */
import { retryUntil } from "#api/db/retry.ts";
import type { CallRefusal, ToolPath } from "#api/tools/contract.ts";
import { pathOf } from "#kernel/tool-patterns.ts";
import type { CallLog, LoggedCall } from "../live/calls.ts";
import type { CallReply, CarriedCall } from "../model/records.ts";
import type { PauseRecord, RunRecords } from "./run-records.ts";

export interface CallJournalOptions {
  records: Pick<RunRecords, "beginCall" | "endCall">;
  log: CallLog;
  /** Aborts when nothing more may be written of the run. */
  over: AbortSignal;
  diverged(message: string): void;
  /** Ends the run: it cannot be repeated. `message` is a whole sentence. */
  lost(message: string): void;
}

const RUN_HAS_ENDED: Extract<CallReply, { ok: false }> = {
  ok: false,
  error: { name: "ToolError", message: "The run has ended.", code: "run_ended" },
};

export class CallJournal {
  readonly #options: CallJournalOptions;
  readonly #carried = new Map<number, CarriedCall>();
  #isKept = false;
  /** Resolves when what is being written of the run as a whole is written, or was not. */
  #gate: Promise<unknown> | null = null;

  constructor(options: CallJournalOptions) {
    this.#options = options;
  }

  /** Whether the run has paused, so that its calls are stored. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** Of the child before. */
  carry(calls: readonly CarriedCall[]): void {
    this.#isKept = true;
    for (const call of calls) this.#carried.set(call.seq, call);
  }

  /** A destructive call of which it is not known whether it was carried out. */
  findInterrupted(): CarriedCall | undefined {
    return [...this.#carried.values()].find(({ reply, destructive }) => reply === null && destructive);
  }

  /** Calls of the child before that the script has not made again. */
  get notRepeated(): CarriedCall[] {
    return [...this.#carried.values()];
  }

  /** The reply to a call that the child before has had; null: it is to be made. */
  replyTo(call: LoggedCall): CallReply | null {
    const { seq } = call;
    const carried = this.#carried.get(seq);
    if (carried === undefined) return null;
    this.#carried.delete(seq);
    if (!carried.digest.equals(call.digest)) {
      this.#options.diverged(
        `Request ${seq} of the script was a call of ${pathOf(carried)}, and is another one now`,
      );
      return RUN_HAS_ENDED;
    }
    // An earlier version did not keep it.
    const isLost = call.isSaved && carried.reply?.ok && carried.reply.savedBytes === undefined;
    return isLost ? this.lose(carried) : carried.reply;
  }

  /** The file that an answer became is not there any more. */
  lose(path: ToolPath): Extract<CallReply, { ok: false }> {
    this.#options.lost(
      `The run cannot be repeated: the answer of ${pathOf(path)} was saved as a file, and is not there any more.`,
    );
    return RUN_HAS_ENDED;
  }

  /** After `called`, before the adapter is called. A refusal means that it must not be. */
  async begin(call: LoggedCall, approvalId: string | null): Promise<CallRefusal | null> {
    if (!this.#isKept && this.#gate === null) return null;
    await this.#gate?.catch(() => {});
    const refuse = (message: string): CallRefusal => {
      call.notCalled();
      return { failure: "call_unavailable", message };
    };
    if (this.#options.over.aborted) return refuse("The run has ended.");
    if (!this.#isKept) return null;
    try {
      switch (await this.#options.records.beginCall(call, approvalId, this.#options.over)) {
        case "begun":
          return null;
        case "gone":
          return refuse("The run has ended.");
        case "used":
          return refuse("The call was approved once and has been made, so it is not made again.");
      }
    } catch {
      return refuse("The call was not made: it could not be recorded. Try again shortly.");
    }
  }

  /** Before the script gets the reply. Resolves when it is stored, or when the run is over. */
  async end(call: LoggedCall, reply: CallReply): Promise<void> {
    const { log, over } = this.#options;
    if (!log.isUnderWay(call)) return;
    await this.#gate?.catch(() => {});
    // What ended because the run was over is not known to have been carried out: its record stays as it is.
    if (this.#isKept) await retryUntil(() => this.#storeEnd(call, reply), over);
    call.replied(reply);
  }

  async #storeEnd({ seq }: LoggedCall, reply: CallReply): Promise<void> {
    const { log, records } = this.#options;
    const saved = log.unstored.filter((answer) => answer.seq === seq);
    await records.endCall(seq, reply, saved);
    log.noteStored(saved);
  }

  /** Writes what a pause is made of, with the calls that belong to it. Begins at once; calls wait until it is written. */
  keep<T>(
    checkpoint: unknown,
    rest: Pick<PauseRecord, "approvals" | "trail" | "usage" | "packages">,
    write: (record: PauseRecord) => Promise<T>,
  ): { record: PauseRecord; kept: Promise<T> } {
    const { log } = this.#options;
    const listed = listUnanswered(checkpoint);
    const unanswered = listed ?? [];
    const calls = log.listToKeep(unanswered);
    const saved = log.unstored;
    const record = { ...rest, checkpoint: listed === null ? null : checkpoint, unanswered, calls, saved };
    const writing = write(record).then((outcome) => {
      log.noteStored(saved);
      return outcome;
    });
    const kept = writing.finally(() => {
      // Also when it failed: what was written may have been committed, and its answer lost.
      this.#isKept = true;
      log.forgetMade();
    });
    this.#closeWhile(kept);
    return { record, kept };
  }

  /** Calls that are about to begin wait; what is under way has to be looked at by the caller first. */
  whileClosed<T>(work: () => Promise<T>): Promise<T> {
    const working = work();
    this.#closeWhile(working);
    return working;
  }

  #closeWhile(working: Promise<unknown>): void {
    const gate = working
      .catch(() => {})
      .then(() => {
        if (this.#gate === gate) this.#gate = null;
      });
    this.#gate = gate;
  }
}

/**
 * Places of requests that a checkpoint has no reply to; null for one that does not say. The rest of a checkpoint is its
 * environment's business.
 */
function listUnanswered(checkpoint: unknown): number[] | null {
  const calls = (checkpoint as { calls?: unknown } | null)?.calls;
  if (!Array.isArray(calls)) return null;
  return calls
    .filter((call: { reply?: unknown }) => call?.reply === null)
    .map((call: { seq?: unknown }) => call.seq)
    .filter((seq) => typeof seq === "number");
}
