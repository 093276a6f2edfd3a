/**
 * The host's log of one run's calls: the trail that readers see, and what a replay must know so that no call is made
 * twice.
 */
import { CallClock } from "#api/bounds/call-clock.ts";
import type { OpenCall } from "#api/tools/contract.ts";
import type { InvokeInput } from "#sdk";
import type {
  CallEnding,
  CallReply,
  JournaledCall,
  RestoredCall,
  SavedAnswer,
  TrailCall,
} from "../model/calls.ts";
import { digestCall } from "../model/digest.ts";
import type { ArtifactSource } from "../model/files.ts";
import { type RequestedCall, Trail } from "./trail.ts";

const UNKNOWN_DIGEST = Buffer.alloc(32);

export interface LoggedCall extends JournaledCall {
  readonly clock: CallClock;
  readonly isSaved: boolean;
  /** File the answer was saved to, by this or an earlier child. */
  saved: ArtifactSource | null;
  /** Status of the service's response, or null if there was no HTTP response. */
  httpStatus: number | null;
  answered(httpStatus: number): void;
  resolve(call: Pick<OpenCall, "serviceId" | "toolId" | "parameters">): void;
  called(destructive: boolean): void;
  notCalled(): void;
  recordSaved(file: ArtifactSource): void;
  /** Call when the script has the answer and starts reading its body. */
  streaming(answer: unknown): void;
  replied(reply: CallReply): void;
  readonly warn: NonNullable<InvokeInput["warn"]>;
  /** Ends the call. Only the first ending counts. */
  end(ending: CallEnding): void;
}

export class CallLog extends Trail {
  open = 0;
  unstored: readonly SavedAnswer[] = [];
  /** Unfinished calls of an earlier child, by request. When the replay makes them again, their entries are reused. */
  readonly #restored = new Map<number, TrailCall>();
  /** Calls whose adapter has been or is about to be called, by request. */
  readonly #underWay = new Map<number, LoggedCall>();
  readonly #begun = new Set<LoggedCall>();
  /** Recent replies, which a checkpoint may lack. */
  readonly #recent = new Map<number, { call: LoggedCall; reply: CallReply }>();
  /** Destructive calls that were made and must not be repeated by a replay. */
  readonly #made = new Map<number, RestoredCall>();
  #requests = 0;

  /** Returns a number for a request whose environment assigns none. Such a run is never replayed. */
  nextSeq(): number {
    this.#requests += 1;
    return this.#requests;
  }

  override restore(calls: readonly TrailCall[]): void {
    super.restore(calls);
    for (const call of calls) {
      if (call.position === null && call.requestSeq !== undefined) this.#restored.set(call.requestSeq, call);
    }
  }

  begin(request: RequestedCall): LoggedCall {
    const { seq, serviceId, toolId, parameters, saveAs } = request;
    const restored = this.#restored.get(seq);
    this.#restored.delete(seq);
    // The run has been waiting since the call started.
    const waitedMs = restored === undefined ? 0 : Math.max(0, Date.now() - restored.startedAt.getTime());
    const entry = restored ?? this.add(request);
    const clock = new CallClock(waitedMs);
    let digest: Buffer | null = null;
    let wasSent = false;
    /** Ending to use if the script has the answer but stops reading its body. */
    let answered: CallEnding | null = null;
    const call: LoggedCall = {
      seq,
      serviceId,
      toolId,
      destructive: true,
      isSaved: saveAs !== undefined,
      saved: null,
      httpStatus: null,
      // Computed on demand: most calls are never compared with another.
      get digest() {
        digest ??= digestCall({ serviceId, toolId }, parameters, saveAs);
        return digest;
      },
      clock,
      resolve: (made) => {
        const { serviceId, toolId } = made;
        if (serviceId !== call.serviceId || toolId !== call.toolId) {
          Object.assign(call, { serviceId, toolId });
          this.rename(entry, made);
        }
        if (made.parameters.url !== parameters.url) this.replaceParameters(entry, made.parameters);
      },
      answered: (httpStatus) => {
        call.httpStatus = httpStatus;
        entry.httpStatus = httpStatus;
      },
      called: (destructive) => {
        wasSent = true;
        call.destructive = destructive;
        this.#underWay.set(seq, call);
      },
      recordSaved: (file) => {
        call.saved = file;
        this.unstored = [...this.unstored, { ...file, seq }];
      },
      notCalled: () => {
        wasSent = false;
        this.#underWay.delete(seq);
      },
      streaming: (result) => {
        answered = { status: "ok", result };
      },
      replied: (reply) => {
        if (!this.#underWay.delete(seq)) return;
        const { destructive } = call;
        this.#recent.set(seq, { call, reply });
        setImmediate(() => this.#recent.delete(seq));
        // Copies no digest, because reading it would compute it.
        const { serviceId, toolId } = call;
        if (destructive)
          this.#made.set(seq, { seq, serviceId, toolId, destructive, digest: UNKNOWN_DIGEST, reply: null });
      },
      warn: (warning) => this.warn(entry, warning),
      end: (ending) => {
        this.#begun.delete(call);
        const sent = answered ?? toUnknown(ending);
        this.end(entry, clock, wasSent && ending.status === "canceled" ? sent : ending);
      },
    };
    this.#begun.add(call);
    return call;
  }

  /** Ends calls in progress when the run ends: as canceled, or as unknown if they were sent. */
  cutOff(error: string): void {
    for (const call of this.#begun) call.end({ status: "canceled", error });
    // An earlier child got the answer but did not read its body to the end.
    for (const entry of this.#restored.values()) {
      if (entry.httpStatus !== null) this.end(entry, new CallClock(), { status: "ok" });
    }
  }

  isUnderWay({ seq }: JournaledCall): boolean {
    return this.#underWay.has(seq);
  }

  /**
   * Lists the calls a pause stores so that none is made twice: calls in progress, and calls made for `unanswered`
   * requests, whose reply the checkpoint lacks.
   */
  listForCheckpoint(unanswered: readonly number[]): RestoredCall[] {
    const calls = [...this.#underWay.values()].map((call) => toRestored(call, null));
    for (const seq of unanswered) {
      const recent = this.#recent.get(seq);
      const made = this.#made.get(seq);
      if (recent !== undefined) calls.push(toRestored(recent.call, recent.reply));
      // The environment has lost the reply.
      else if (made !== undefined) calls.push(made);
    }
    return calls;
  }

  recordStored(answers: readonly SavedAnswer[]): void {
    this.unstored = this.unstored.filter((answer) => !answers.includes(answer));
  }

  /** Call once the database records every call. */
  forgetMade(): void {
    this.#made.clear();
  }
}

/** The request was sent, so the service may have carried it out. */
function toUnknown({ error, ...ending }: CallEnding): CallEnding {
  const sent = "Its request had been sent; it is not known whether it was carried out.";
  return { ...ending, status: "unknown", error: error === undefined ? sent : `${error} ${sent}` };
}

function toRestored(
  { seq, serviceId, toolId, destructive, digest }: JournaledCall,
  reply: CallReply | null,
): RestoredCall {
  return { seq, serviceId, toolId, destructive, digest, reply };
}
