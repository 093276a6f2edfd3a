/**
 * The host's log of the calls of one run: what the trail shows (values are capped previews), and what a repetition of the
 * run must know so that no call is made twice.
 */

import { CallClock } from "#api/bounds/call-clock.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import type { OpenCall, ToolPath } from "#api/tools/contract.ts";
import { type InvokeInput, MAX_WARNINGS, mayHoldLargeInteger, type RunWarning, withDigits } from "#sdk";
import { digestCall } from "../model/digest.ts";
import type { ArtifactSource } from "../model/files.ts";
import type {
  CallEnding,
  CallReply,
  CarriedCall,
  JournaledCall,
  SavedAnswer,
  TrailCall,
} from "../model/records.ts";
import { parseWarning } from "./ending.ts";
import { withoutNul } from "./output.ts";

/** Of one call's parameters or result, as JSON text. */
export const MAX_PREVIEW_BYTES = 16 * 1024;
/** Of all previews of a run; calls after that are recorded without values. */
export const MAX_TRAIL_PREVIEW_BYTES = 8 * 1024 * 1024;
export const MAX_TRAIL_CALLS = 10_000;
const MAX_ERROR_CHARACTERS = 2000;
const MAX_ID_CHARACTERS = 500;
/** Of a call that is not to be compared with another. */
const UNKNOWN_DIGEST = Buffer.alloc(32);

/** A call while it is under way. */
export interface LoggedCall extends JournaledCall {
  readonly clock: CallClock;
  /** Its answer is to become a file. */
  readonly isSaved: boolean;
  /** What it became, here or in an earlier child; null: nothing, or not yet. */
  saved: ArtifactSource | null;
  /** Of the service's answer; null: none, or not over HTTP. */
  httpStatus: number | null;
  answered(httpStatus: number): void;
  /** Records which tool a `fetch` request was resolved to, and its parameters. */
  resolve(call: Pick<OpenCall, "serviceId" | "toolId" | "parameters">): void;
  /** Its adapter is about to be called. */
  called(destructive: boolean): void;
  /** Its adapter was not called after all. */
  notCalled(): void;
  /** Its answer is a file of the workspace, which a repetition of the run must find again. */
  noteSaved(file: ArtifactSource): void;
  /** The script has this answer, and reads its body while that comes. */
  streaming(answer: unknown): void;
  /** The script is about to get the reply. */
  replied(reply: CallReply): void;
  /** Records something odd about its answer. */
  readonly warn: NonNullable<InvokeInput["warn"]>;
  /** Records how it ended; only the first time counts. */
  end(ending: CallEnding): void;
}

/** What was asked: the tool, and the place among all that the run asks of the host. */
export interface RequestedCall extends ToolPath {
  seq: number;
  parameters: Record<string, unknown>;
  saveAs?: string | undefined;
}

export class CallLog {
  readonly #redactor: Pick<Redactor, "text" | "jsonText">;
  readonly #calls: TrailCall[] = [];
  readonly #ended: TrailCall[] = [];
  /** Calls of an earlier child that had not ended there, by their place: made again, they are the same calls. */
  readonly #restored = new Map<number, TrailCall>();
  /** Calls whose adapter is called, or about to be. */
  readonly #underWay = new Map<number, LoggedCall>();
  /** Calls that have not ended. */
  readonly #begun = new Set<LoggedCall>();
  /** Replies given a moment ago: what the environment keeps of the run may lack them. */
  readonly #recent = new Map<number, { call: LoggedCall; reply: CallReply }>();
  /** Destructive calls that were made: no repetition may make them again. */
  readonly #made = new Map<number, CarriedCall>();
  /** Answers that became files, and whose content is not stored yet. */
  #unstored: SavedAnswer[] = [];
  /** Of all calls; those beyond MAX_WARNINGS are only counted. */
  #warnings = 0;
  #previewBytes = 0;
  #open = 0;
  #requests = 0;

  constructor(redactor: Pick<Redactor, "text" | "jsonText">) {
    this.#redactor = redactor;
  }

  /** A number for a request whose environment does not count them: such a run is never repeated. */
  nextSeq(): number {
    this.#requests += 1;
    return this.#requests;
  }

  /** All calls, in order of issue. */
  get all(): readonly TrailCall[] {
    return this.#calls;
  }

  /** Calls that have ended, in the order in which they did. */
  get ended(): readonly TrailCall[] {
    return this.#ended;
  }

  /** Requests of the script that have no reply yet, questions to people among them. */
  get open(): number {
    return this.#open;
  }

  /** Of its calls, in order of issue. */
  get warnings(): readonly RunWarning[] {
    return this.#warnings === 0 ? [] : this.#calls.flatMap(({ warnings }) => warnings ?? []);
  }

  get droppedWarnings(): number {
    return Math.max(0, this.#warnings - MAX_WARNINGS);
  }

  isFull(): boolean {
    return this.#calls.length >= MAX_TRAIL_CALLS;
  }

  /** Counts a request as open as long as it is being dealt with. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#open += 1;
    try {
      return await work();
    } finally {
      this.#open -= 1;
    }
  }

  /** The trail of an earlier child of the run. */
  restore(calls: readonly TrailCall[]): void {
    this.#calls.push(...calls);
    for (const call of calls) {
      if (call.position === null && call.requestSeq !== undefined) this.#restored.set(call.requestSeq, call);
    }
    const ended = calls.filter(({ position }) => position !== null);
    this.#ended.push(...ended.sort((a, b) => (a.position ?? 0) - (b.position ?? 0)));
    for (const { parameters, result, warnings } of calls) {
      this.#warnings += warnings?.length ?? 0;
      this.#previewBytes += Buffer.byteLength(parameters ?? "") + Buffer.byteLength(result ?? "");
    }
  }

  begin(request: RequestedCall): LoggedCall {
    const { seq, serviceId, toolId, parameters, saveAs } = request;
    const restored = this.#restored.get(seq);
    this.#restored.delete(seq);
    // Since then its run stood still.
    const waitedMs = restored === undefined ? 0 : Math.max(0, Date.now() - restored.startedAt.getTime());
    const entry = restored ?? this.#add(request);
    const clock = new CallClock(waitedMs);
    let digest: Buffer | null = null;
    let wasSent = false;
    /** How a call ends whose answer the script had, when it wants no more of the body. */
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
          this.#name(entry, made);
        }
        if (made.parameters.url !== parameters.url) this.#replaceParameters(entry, made.parameters);
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
      noteSaved: (file) => {
        call.saved = file;
        this.#unstored.push({ ...file, seq });
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
        // Without its digest, which is made when it is read.
        const { serviceId, toolId } = call;
        if (destructive)
          this.#made.set(seq, { seq, serviceId, toolId, destructive, digest: UNKNOWN_DIGEST, reply: null });
      },
      warn: (warning) => this.#warn(entry, warning),
      end: (ending) => {
        this.#begun.delete(call);
        const sent = answered ?? toUnknown(ending);
        this.#end(entry, clock, wasSent && ending.status === "canceled" ? sent : ending);
      },
    };
    this.#begun.add(call);
    return call;
  }

  /** The run is over: what has not ended ends as canceled, or unknown if it was sent. */
  cutOff(error: string): void {
    for (const call of this.#begun) call.end({ status: "canceled", error });
    // An earlier child had the answer, and a body that it did not read to its end.
    for (const entry of this.#restored.values()) {
      if (entry.httpStatus !== null) this.#end(entry, new CallClock(), { status: "ok" });
    }
  }

  isUnderWay({ seq }: JournaledCall): boolean {
    return this.#underWay.has(seq);
  }

  /**
   * What a pause keeps of the calls, so that none is made twice: those under way, and of `unanswered`, the requests that
   * the environment has no reply to, those that were made.
   */
  listToKeep(unanswered: readonly number[]): CarriedCall[] {
    const calls = [...this.#underWay.values()].map((call) => toCarried(call, null));
    for (const seq of unanswered) {
      const recent = this.#recent.get(seq);
      const made = this.#made.get(seq);
      if (recent !== undefined) calls.push(toCarried(recent.call, recent.reply));
      // The environment has lost the reply.
      else if (made !== undefined) calls.push(made);
    }
    return calls;
  }

  /** Answers that became files, and that no pause of the run has stored yet. */
  get unstored(): readonly SavedAnswer[] {
    return this.#unstored;
  }

  noteStored(answers: readonly SavedAnswer[]): void {
    this.#unstored = this.#unstored.filter((answer) => !answers.includes(answer));
  }

  /** From now on the database keeps every call. */
  forgetMade(): void {
    this.#made.clear();
  }

  #add({ seq, serviceId, toolId, parameters }: RequestedCall): TrailCall {
    const entry: TrailCall = {
      requestSeq: seq,
      seq: this.#calls.length + 1,
      position: null,
      serviceId: "",
      toolId: "",
      startedAt: new Date(),
      durationMs: null,
      status: null,
      error: null,
      httpStatus: null,
      ...prefixed("parameters", this.#preview(parameters)),
      resultBytes: 0,
      result: null,
    };
    this.#name(entry, { serviceId, toolId });
    this.#calls.push(entry);
    return entry;
  }

  #warn(entry: TrailCall, { message, ...rest }: Parameters<LoggedCall["warn"]>[0]): void {
    if (this.#warnings++ >= MAX_WARNINGS) return;
    const named = { ...rest, message: `${entry.serviceId}.${entry.toolId}: ${message}` };
    entry.warnings = [...(entry.warnings ?? []), parseWarning(named, this.#redactor)];
  }

  /** What a call was made with, where that is not what was asked for: its URL as it was read. */
  #replaceParameters(entry: TrailCall, parameters: RequestedCall["parameters"]): void {
    this.#previewBytes -= Buffer.byteLength(entry.parameters ?? "");
    Object.assign(entry, prefixed("parameters", this.#preview(parameters)));
  }

  #name(entry: TrailCall, { serviceId, toolId }: ToolPath): void {
    entry.serviceId = this.#clean(serviceId, MAX_ID_CHARACTERS);
    entry.toolId = this.#clean(toolId, MAX_ID_CHARACTERS);
  }

  #end(entry: TrailCall, clock: CallClock, ending: CallEnding): void {
    if (entry.position !== null) return;
    entry.position = this.#ended.length;
    const { durationMs, waitedMs } = clock.read();
    entry.durationMs = toMicroseconds(durationMs);
    entry.waitedMs = toMicroseconds(waitedMs);
    const hasFailed = ending.status === "ok" && (entry.httpStatus ?? 0) >= 400;
    entry.status = hasFailed ? "error" : ending.status;
    entry.error = ending.error === undefined ? null : this.#clean(ending.error, MAX_ERROR_CHARACTERS);
    if ("result" in ending) Object.assign(entry, prefixed("result", this.#preview(ending.result)));
    this.#ended.push(entry);
  }

  /** Secrets go before the cut: half of one would not be recognised. */
  #clean(text: string, maxCharacters: number): string {
    return withoutNul(this.#redactor.text(text).slice(0, maxCharacters));
  }

  #preview(value: unknown): Preview {
    let text: string;
    try {
      text = this.#redactor.jsonText(writeShown(value));
    } catch {
      return { bytes: 0, text: null };
    }
    const bytes = Buffer.byteLength(text);
    if (this.#previewBytes + Math.min(bytes, MAX_PREVIEW_BYTES) > MAX_TRAIL_PREVIEW_BYTES)
      return { bytes, text: null };
    if (bytes > MAX_PREVIEW_BYTES) {
      const start = Buffer.from(text.slice(0, MAX_PREVIEW_BYTES)).toString("utf8", 0, MAX_PREVIEW_BYTES / 2);
      text = JSON.stringify(`${start}… [${bytes} bytes, truncated]`);
    }
    this.#previewBytes += Buffer.byteLength(text);
    return { bytes, text };
  }
}

/** Its request was sent: the service may have carried it out. */
function toUnknown({ error, ...ending }: CallEnding): CallEnding {
  const sent = "Its request had been sent; it is not known whether it was carried out.";
  return { ...ending, status: "unknown", error: error === undefined ? sent : `${error} ${sent}` };
}

/** The digest is made here. */
function toCarried(
  { seq, serviceId, toolId, destructive, digest }: JournaledCall,
  reply: CallReply | null,
): CarriedCall {
  return { seq, serviceId, toolId, destructive, digest, reply };
}

function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

interface Preview {
  bytes: number;
  text: string | null;
}

function prefixed<N extends "parameters" | "result">(name: N, preview: Preview) {
  return { [`${name}Bytes`]: preview.bytes, [name]: preview.text } as Record<`${N}Bytes`, number> &
    Record<N, string | null>;
}

/** JSON text for those who read the trail, in which no parser rounds an integer. */
function writeShown(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return mayHoldLargeInteger(text) ? JSON.stringify(withDigits(value)) : text;
}
