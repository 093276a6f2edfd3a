/**
 * The host's log of the calls of one run: the trail that readers see, and what a replay must know so that no call is made
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

/** Stands for the digest of a call that is never compared with another. */
const UNKNOWN_DIGEST = Buffer.alloc(32);

/** A call in progress. */
export interface LoggedCall extends JournaledCall {
  readonly clock: CallClock;
  /** Its answer is to become a file. */
  readonly isSaved: boolean;
  /** The file that the answer became, here or in an earlier child. */
  saved: ArtifactSource | null;
  /** Status of the service's response, or null if there was none or not over HTTP. */
  httpStatus: number | null;
  answered(httpStatus: number): void;
  /** Records which tool a `fetch` request was resolved to, and its parameters. */
  resolve(call: Pick<OpenCall, "serviceId" | "toolId" | "parameters">): void;
  /** Its adapter is about to be called. */
  called(destructive: boolean): void;
  /** Its adapter was not called after all. */
  notCalled(): void;
  /** Its answer became a file of the workspace, which a replay of the run must find again. */
  recordSaved(file: ArtifactSource): void;
  /** The script has this answer, and reads its body while that arrives. */
  streaming(answer: unknown): void;
  /** The script is about to get the reply. */
  replied(reply: CallReply): void;
  readonly warn: NonNullable<InvokeInput["warn"]>;
  /** Only the first ending counts. */
  end(ending: CallEnding): void;
}

export class CallLog extends Trail {
  /** Requests of the script that have no reply yet, including questions to approvers. */
  open = 0;
  /** Answers that became files, and that the database does not have yet. */
  unstored: readonly SavedAnswer[] = [];
  /** Calls that had not ended in an earlier child, by request: made again, they are the same calls. */
  readonly #restored = new Map<number, TrailCall>();
  /** Calls whose adapter is called, or about to be, by request. */
  readonly #underWay = new Map<number, LoggedCall>();
  /** Calls that have not ended. */
  readonly #begun = new Set<LoggedCall>();
  /** Replies given a moment ago: a checkpoint may lack them. */
  readonly #recent = new Map<number, { call: LoggedCall; reply: CallReply }>();
  /** Destructive calls that were made: no replay may make them again. */
  readonly #made = new Map<number, RestoredCall>();
  #requests = 0;

  /** Numbers a request whose environment does not: such a run is never replayed. */
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
    // The run has been waiting since then.
    const waitedMs = restored === undefined ? 0 : Math.max(0, Date.now() - restored.startedAt.getTime());
    const entry = restored ?? this.add(request);
    const clock = new CallClock(waitedMs);
    let digest: Buffer | null = null;
    let wasSent = false;
    /** Ending of a call whose answer the script has, if the script wants no more of the body. */
    let answered: CallEnding | null = null;
    const call: LoggedCall = {
      seq,
      serviceId,
      toolId,
      destructive: true,
      isSaved: saveAs !== undefined,
      saved: null,
      httpStatus: null,
      // Most calls are never compared with another.
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
        // Without the digest, whose first read would compute it.
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

  /** The run is over: calls in progress end as canceled, or as unknown if they were sent. */
  cutOff(error: string): void {
    for (const call of this.#begun) call.end({ status: "canceled", error });
    // An earlier child had the answer, and did not read its body to the end.
    for (const entry of this.#restored.values()) {
      if (entry.httpStatus !== null) this.end(entry, new CallClock(), { status: "ok" });
    }
  }

  isUnderWay({ seq }: JournaledCall): boolean {
    return this.#underWay.has(seq);
  }

  /**
   * Lists what a pause stores of the calls, so that none is made twice: those in progress, and of `unanswered`, the requests whose
   * reply the checkpoint lacks, those that were made.
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

  /** From now on the database records every call. */
  forgetMade(): void {
    this.#made.clear();
  }
}

/** The request was sent: the service may have carried it out. */
function toUnknown({ error, ...ending }: CallEnding): CallEnding {
  const sent = "Its request had been sent; it is not known whether it was carried out.";
  return { ...ending, status: "unknown", error: error === undefined ? sent : `${error} ${sent}` };
}

/** Computes the digest. */
function toRestored(
  { seq, serviceId, toolId, destructive, digest }: JournaledCall,
  reply: CallReply | null,
): RestoredCall {
  return { seq, serviceId, toolId, destructive, digest, reply };
}
