/**
 * The calls of one run as far as a replay must know them: before its first pause in memory, from then on each is stored
 * before its adapter is called, and its reply before the script gets it. So no call is made twice for want of a record.
 */
import type { CallRefusal } from "#api/tools/gate.ts";
import type { CallReply, CarriedCall, JournaledCall } from "../model/records.ts";
import { insist } from "./kept-pause.ts";
import type { PauseRecord, RunRecords } from "./run-records.ts";

/** Of a call that is not to be compared with another. */
const UNKNOWN_DIGEST = Buffer.alloc(32);

export interface CallJournalOptions {
  records: Pick<RunRecords, "beginCall" | "endCall">;
  /** Aborts when nothing more may be written of the run. */
  over: AbortSignal;
  diverged(message: string): void;
}

export class CallJournal {
  readonly #options: CallJournalOptions;
  /** Calls whose adapter is under way, or about to be called, by their place among the run's requests. */
  readonly #underWay = new Map<number, JournaledCall>();
  /** Replies that were given a moment ago, before the run was paused: a checkpoint may lack them. */
  readonly #recent = new Map<number, { call: JournaledCall; reply: CallReply }>();
  /** Destructive calls that were made before the first pause. */
  readonly #made = new Map<number, JournaledCall>();
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
  replyTo(call: JournaledCall): CallReply | null {
    const { seq } = call;
    const carried = this.#carried.get(seq);
    if (carried === undefined) return null;
    this.#carried.delete(seq);
    if (!carried.digest.equals(call.digest)) {
      this.#options.diverged(
        `Request ${seq} of the script was a call of ${carried.serviceId}.${carried.toolId}, and is another one now`,
      );
      return { ok: false, error: { name: "ToolError", message: "The run has ended.", code: "run_ended" } };
    }
    return carried.reply;
  }

  /** Before the adapter is called. A refusal means that it must not be. */
  async begin(call: JournaledCall, approvalId: string | null): Promise<CallRefusal | null> {
    this.#underWay.set(call.seq, call);
    if (!this.#isKept && this.#gate === null) return null;
    await this.#gate?.catch(() => {});
    const refuse = (message: string): CallRefusal => {
      this.#underWay.delete(call.seq);
      return { failure: "call_unavailable", message };
    };
    if (this.#options.over.aborted) return refuse("The run has ended.");
    if (!this.#isKept) return null;
    try {
      switch (await this.#options.records.beginCall(call, approvalId)) {
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
  async end(seq: number, reply: CallReply): Promise<void> {
    const call = this.#underWay.get(seq);
    if (call === undefined) return;
    await this.#gate?.catch(() => {});
    if (this.#isKept) await insist(() => this.#options.records.endCall(seq, reply), this.#options.over);
    else this.#remember(call, reply);
    // What ended because the run was over is not known to have been carried out: its record stays as it is.
    this.#underWay.delete(seq);
  }

  /** Writes what a pause is made of, with the calls that belong to it. Begins at once; calls wait until it is written. */
  keep<T>(
    checkpoint: unknown,
    rest: Pick<PauseRecord, "approvals" | "trail" | "usage">,
    write: (record: PauseRecord) => Promise<T>,
  ): { record: PauseRecord; kept: Promise<T> } {
    const listed = listUnanswered(checkpoint);
    const unanswered = listed ?? [];
    const calls: CarriedCall[] = [...this.#underWay.values()].map((call) => ({
      ...toRecord(call),
      reply: null,
    }));
    for (const seq of unanswered) {
      const recent = this.#recent.get(seq);
      const made = this.#made.get(seq);
      if (recent !== undefined) calls.push({ ...toRecord(recent.call), reply: recent.reply });
      // The environment has lost the reply: whoever repeats the run must not make the call again.
      else if (made !== undefined) calls.push({ ...made, reply: null });
    }
    const record = { ...rest, checkpoint: listed === null ? null : checkpoint, unanswered, calls };
    const kept = write(record).finally(() => {
      // Also when it failed: what was written may have been committed, and its answer lost.
      this.#isKept = true;
      this.#made.clear();
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

  #remember(call: JournaledCall, reply: CallReply): void {
    const { seq, serviceId, toolId, destructive } = call;
    this.#recent.set(seq, { call, reply });
    setImmediate(() => this.#recent.delete(seq));
    if (destructive) this.#made.set(seq, { seq, serviceId, toolId, destructive, digest: UNKNOWN_DIGEST });
  }
}

/** The digest is made when it is read. */
function toRecord({ seq, serviceId, toolId, destructive, digest }: JournaledCall): JournaledCall {
  return { seq, serviceId, toolId, destructive, digest };
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
