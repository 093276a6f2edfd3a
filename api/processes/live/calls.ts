/** The call trail of one run: what was called, when, how it ended and how much it carried. Values are capped previews. */

import { type CallClock, startCallClock } from "#api/bounds/call-clock.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import type { CallEnding, TrailCall } from "../model/records.ts";
import { withoutNul } from "./output.ts";

/** Of one call's parameters or result, as JSON text. */
export const MAX_PREVIEW_BYTES = 16 * 1024;
/** Of all previews of a run; calls after that are recorded without values. */
export const MAX_TRAIL_PREVIEW_BYTES = 8 * 1024 * 1024;
export const MAX_TRAIL_CALLS = 10_000;
const MAX_ERROR_CHARACTERS = 2000;
const MAX_ID_CHARACTERS = 500;

export class CallTrail {
  readonly #redactor: Redactor;
  readonly #calls: TrailCall[] = [];
  readonly #ended: TrailCall[] = [];
  /** Calls of an earlier child that had not ended there, by their place: made again, they are the same calls. */
  readonly #open = new Map<number, TrailCall>();
  #previewBytes = 0;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** All calls, in order of issue. */
  get calls(): readonly TrailCall[] {
    return this.#calls;
  }

  /** Calls that have ended, in the order in which they did. */
  get ended(): readonly TrailCall[] {
    return this.#ended;
  }

  isFull(): boolean {
    return this.#calls.length >= MAX_TRAIL_CALLS;
  }

  /** The trail of an earlier child of the run. */
  restore(calls: readonly TrailCall[]): void {
    this.#calls.push(...calls);
    for (const call of calls) {
      if (call.position === null && call.requestSeq !== undefined) this.#open.set(call.requestSeq, call);
    }
    const ended = calls.filter(({ position }) => position !== null);
    this.#ended.push(...ended.sort((a, b) => (a.position ?? 0) - (b.position ?? 0)));
    for (const { parameters, result } of calls) {
      this.#previewBytes += Buffer.byteLength(parameters ?? "") + Buffer.byteLength(result ?? "");
    }
  }

  /** Records a call. What is returned measures it, and records its end; only the first `end` counts. */
  begin(serviceId: string, toolId: string, parameters: unknown, requestSeq?: number): OpenCall {
    const begun = requestSeq === undefined ? undefined : this.#open.get(requestSeq);
    if (begun !== undefined) {
      this.#open.delete(requestSeq as number);
      // Since then its run stood still.
      return this.#measure(begun, startCallClock(Math.max(0, Date.now() - begun.startedAt.getTime())));
    }
    const call: TrailCall = {
      ...(requestSeq !== undefined && { requestSeq }),
      seq: this.#calls.length + 1,
      position: null,
      serviceId: this.#clean(serviceId, MAX_ID_CHARACTERS),
      toolId: this.#clean(toolId, MAX_ID_CHARACTERS),
      startedAt: new Date(),
      durationMs: null,
      status: null,
      error: null,
      ...prefixed("parameters", this.#preview(parameters)),
      resultBytes: 0,
      result: null,
    };
    this.#calls.push(call);
    return this.#measure(call, startCallClock());
  }

  #measure(call: TrailCall, clock: CallClock): OpenCall {
    const end = (ending: CallEnding) => {
      if (call.position !== null) return;
      call.position = this.#ended.length;
      const { durationMs, waitedMs } = clock.read();
      call.durationMs = toMicroseconds(durationMs);
      call.waitedMs = toMicroseconds(waitedMs);
      call.status = ending.status;
      call.error = ending.error === undefined ? null : this.#clean(ending.error, MAX_ERROR_CHARACTERS);
      if ("result" in ending) Object.assign(call, prefixed("result", this.#preview(ending.result)));
      this.#ended.push(call);
    };
    return { clock, end };
  }

  /** Secrets go before the cut: half of one would not be recognised. */
  #clean(text: string, maxCharacters: number): string {
    return withoutNul(this.#redactor.text(text).slice(0, maxCharacters));
  }

  #preview(value: unknown): Preview {
    let text: string;
    try {
      text = this.#redactor.jsonText(JSON.stringify(value) ?? "null");
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

interface OpenCall {
  clock: CallClock;
  end(ending: CallEnding): void;
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
