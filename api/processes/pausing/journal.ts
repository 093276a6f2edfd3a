/**
 * The journal of a run that asks approvers. From its first pause on, each call is stored before its adapter is
 * called, and each reply before the script gets it. Earlier calls are in the run's log (live/calls.ts).
 */
import { retryUntil } from "#api/db/retry.ts";
import type { CallRefusal, ToolPath } from "#api/tools/contract.ts";
import { pathOf } from "#kernel/tool-patterns.ts";
import { unavailable } from "../live/approvals.ts";
import type { CallLog, LoggedCall } from "../live/calls.ts";
import type { CallReply, KeptAnswer, RestoredCall, RestoredRun } from "../model/calls.ts";
import type { PauseRecord, PauseStore } from "./transactions.ts";

export interface ReplayJournalOptions {
  store: Pick<PauseStore, "beginCall" | "endCall">;
  log: CallLog;
  /** Aborts when nothing more may be written about the run. */
  over: AbortSignal;
  /** Ends the run because it cannot be replayed. `message` is a complete sentence. */
  failReplay(message: string): void;
}

const RUN_HAS_ENDED: Extract<CallReply, { ok: false }> = {
  ok: false,
  error: { name: "ToolError", message: "The run has ended.", code: "run_ended" },
};

export class ReplayJournal {
  readonly #options: ReplayJournalOptions;
  readonly #restored = new Map<number, RestoredCall>();
  #saved: readonly KeptAnswer[] = [];
  #isKept = false;
  /** Settles when the checkpoint or detachment in progress has succeeded or failed. */
  #gate: Promise<unknown> | null = null;

  constructor(options: ReplayJournalOptions) {
    this.#options = options;
  }

  /** True once the run has paused, so its calls are stored. */
  get isKept(): boolean {
    return this.#isKept;
  }

  restore({ calls, saved }: Pick<RestoredRun, "calls" | "saved">): void {
    this.#isKept = true;
    this.#saved = saved;
    for (const call of calls) this.#restored.set(call.seq, call);
  }

  findSaved(seq: number): KeptAnswer | undefined {
    return this.#saved.find((answer) => answer.seq === seq);
  }

  /** Returns a destructive call that may or may not have been carried out. */
  findInterrupted(): RestoredCall | undefined {
    return this.#restored.values().find(({ reply, destructive }) => reply === null && destructive);
  }

  /** Fails the replay if the script has ended without repeating every call of the earlier child. */
  checkAllReplayed(): void {
    for (const call of this.#restored.values()) {
      this.diverge(`Request ${call.seq} of the script was a call of ${pathOf(call)} and was not made again`);
      return;
    }
  }

  diverge(message: string): void {
    this.#options.failReplay(`${message}: the script did not do again what it had done before.`);
  }

  /** Returns the reply that an earlier child got, or null if the call is to be made. */
  replyTo(call: LoggedCall): CallReply | null {
    const { seq } = call;
    const restored = this.#restored.get(seq);
    if (restored === undefined) return null;
    this.#restored.delete(seq);
    if (!restored.digest.equals(call.digest)) {
      this.diverge(`Request ${seq} of the script was a call of ${pathOf(restored)}, and is another one now`);
      return RUN_HAS_ENDED;
    }
    // Older servers did not store the size of a saved answer.
    const isLost = call.isSaved && restored.reply?.ok && restored.reply.savedBytes === undefined;
    return isLost ? this.lose(restored) : restored.reply;
  }

  /** The file of a saved answer no longer exists. */
  lose(path: ToolPath): Extract<CallReply, { ok: false }> {
    this.#options.failReplay(
      `The run cannot be repeated: the answer of ${pathOf(path)} was saved as a file, and is not there any more.`,
    );
    return RUN_HAS_ENDED;
  }

  /** Call after `called` and before calling the adapter. Returns why the call must not be made, or null. */
  async begin(call: LoggedCall, approvalId: string | null): Promise<CallRefusal | null> {
    if (!this.#isKept && this.#gate === null) return null;
    await this.#gate;
    const { store, over } = this.#options;
    const refuse = (message: string): CallRefusal => {
      call.notCalled();
      return unavailable(message);
    };
    if (over.aborted) return refuse("The run has ended.");
    if (!this.#isKept) return null;
    try {
      switch (await store.beginCall(call, approvalId, over)) {
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

  /** Call before the script gets the reply. Resolves when the reply is stored or the run has ended. */
  async end(call: LoggedCall, reply: CallReply): Promise<void> {
    const { log, over, store } = this.#options;
    if (!log.isUnderWay(call)) return;
    await this.#gate;
    if (this.#isKept) {
      // The run's end may have caused the end of the call, so the call's outcome stays unknown.
      await retryUntil(async () => {
        const saved = log.unstored.filter(({ seq }) => seq === call.seq);
        await store.endCall(call.seq, reply, saved);
        log.recordStored(saved);
      }, over);
    }
    call.replied(reply);
  }

  /** Writes a checkpoint with its calls. Starts at once; new calls wait until it is written. */
  keep<T>(
    checkpoint: unknown,
    write: (record: Pick<PauseRecord, "checkpoint" | "unanswered" | "calls" | "saved">) => Promise<T>,
  ): Promise<T> {
    const { log } = this.#options;
    return this.whileClosed(async () => {
      const listed = listUnanswered(checkpoint);
      const unanswered = listed ?? [];
      const saved = log.unstored;
      const calls = log.listForCheckpoint(unanswered);
      try {
        const written = await write({
          checkpoint: listed === null ? null : checkpoint,
          unanswered,
          calls,
          saved,
        });
        log.recordStored(saved);
        return written;
      } finally {
        // Set even on failure: the transaction may have been committed and its confirmation lost.
        this.#isKept = true;
        log.forgetMade();
      }
    });
  }

  whileClosed<T>(work: () => Promise<T>): Promise<T> {
    const working = work();
    const open = () => {
      if (this.#gate === gate) this.#gate = null;
    };
    const gate = working.then(open, open);
    this.#gate = gate;
    return working;
  }
}

/**
 * Lists the requests whose reply a checkpoint lacks, or returns null if it does not say. The rest of a checkpoint is
 * private to its environment.
 */
function listUnanswered(checkpoint: unknown): number[] | null {
  const calls = (checkpoint as { calls?: unknown } | null)?.calls;
  if (!Array.isArray(calls)) return null;
  return calls
    .filter((call: { reply?: unknown }) => call?.reply === null)
    .map((call: { seq?: unknown }) => call.seq)
    .filter((seq) => typeof seq === "number");
}
