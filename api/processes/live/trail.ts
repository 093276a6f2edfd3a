/** The trail of one run: its tool calls as readers see them. Values are previews, cut to their limits. */
import type { CallClock } from "#api/bounds/call-clock.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import type { ToolPath } from "#api/tools/contract.ts";
import { type InvokeInput, MAX_WARNINGS, mayHoldLargeInteger, type RunWarning, withDigits } from "#sdk";
import type { CallEnding, TrailCall } from "../model/calls.ts";
import { parseWarning, withoutNul } from "./ending.ts";

export const MAX_TRAIL_CALLS = 10_000;
/** JSON bytes of one call's parameters or result. */
export const MAX_PREVIEW_BYTES = 16 * 1024;
/** Maximum bytes of all previews in a run. Later calls are recorded without values. */
export const MAX_TRAIL_PREVIEW_BYTES = 8 * 1024 * 1024;

const MAX_ERROR_CHARACTERS = 2000;
const MAX_ID_CHARACTERS = 500;

/** A call as the script requested it. `seq` is its position among all requests of the run to the host. */
export interface RequestedCall extends ToolPath {
  seq: number;
  parameters: Record<string, unknown>;
  saveAs?: string | undefined;
}

export class Trail {
  /** Calls in order of issue. */
  readonly all: TrailCall[] = [];
  /** Calls in order of ending. */
  readonly ended: TrailCall[] = [];
  readonly #redactor: Pick<Redactor, "text" | "jsonText">;
  /** Number of warnings of all calls. Only MAX_WARNINGS are stored. */
  #warnings = 0;
  #previewBytes = 0;

  constructor(redactor: Pick<Redactor, "text" | "jsonText">) {
    this.#redactor = redactor;
  }

  get warnings(): readonly RunWarning[] {
    return this.#warnings === 0 ? [] : this.all.flatMap(({ warnings }) => warnings ?? []);
  }

  get droppedWarnings(): number {
    return Math.max(0, this.#warnings - MAX_WARNINGS);
  }

  isFull(): boolean {
    return this.all.length >= MAX_TRAIL_CALLS;
  }

  restore(calls: readonly TrailCall[]): void {
    this.all.push(...calls);
    const ended = calls.filter(({ position }) => position !== null);
    this.ended.push(...ended.sort((a, b) => (a.position ?? 0) - (b.position ?? 0)));
    for (const { parameters, result, warnings } of calls) {
      this.#warnings += warnings?.length ?? 0;
      this.#previewBytes += Buffer.byteLength(parameters ?? "") + Buffer.byteLength(result ?? "");
    }
  }

  protected add({ seq, serviceId, toolId, parameters }: RequestedCall): TrailCall {
    const entry: TrailCall = {
      requestSeq: seq,
      seq: this.all.length + 1,
      position: null,
      serviceId: this.#clean(serviceId, MAX_ID_CHARACTERS),
      toolId: this.#clean(toolId, MAX_ID_CHARACTERS),
      startedAt: new Date(),
      durationMs: null,
      status: null,
      error: null,
      httpStatus: null,
      ...prefixed("parameters", this.#preview(parameters)),
      resultBytes: 0,
      result: null,
    };
    this.all.push(entry);
    return entry;
  }

  protected rename(entry: TrailCall, { serviceId, toolId }: ToolPath): void {
    entry.serviceId = this.#clean(serviceId, MAX_ID_CHARACTERS);
    entry.toolId = this.#clean(toolId, MAX_ID_CHARACTERS);
  }

  protected replaceParameters(entry: TrailCall, parameters: RequestedCall["parameters"]): void {
    this.#previewBytes -= Buffer.byteLength(entry.parameters ?? "");
    Object.assign(entry, prefixed("parameters", this.#preview(parameters)));
  }

  protected warn(
    entry: TrailCall,
    { message, ...rest }: Parameters<NonNullable<InvokeInput["warn"]>>[0],
  ): void {
    if (this.#warnings++ >= MAX_WARNINGS) return;
    const named = { ...rest, message: `${entry.serviceId}.${entry.toolId}: ${message}` };
    entry.warnings = [...(entry.warnings ?? []), parseWarning(named, this.#redactor)];
  }

  /** Only the first ending counts. */
  protected end(entry: TrailCall, clock: CallClock, ending: CallEnding): void {
    if (entry.position !== null) return;
    entry.position = this.ended.length;
    const { durationMs, waitedMs } = clock.read();
    entry.durationMs = toMicroseconds(durationMs);
    entry.waitedMs = toMicroseconds(waitedMs);
    const hasFailed = ending.status === "ok" && (entry.httpStatus ?? 0) >= 400;
    entry.status = hasFailed ? "error" : ending.status;
    entry.error = ending.error === undefined ? null : this.#clean(ending.error, MAX_ERROR_CHARACTERS);
    if ("result" in ending) Object.assign(entry, prefixed("result", this.#preview(ending.result)));
    this.ended.push(entry);
  }

  /** Redacts before cutting, because half a secret would not be recognized. */
  #clean(text: string, maxCharacters: number): string {
    return withoutNul(this.#redactor.text(text).slice(0, maxCharacters));
  }

  #preview(value: unknown): Preview {
    let text: string;
    try {
      text = JSON.stringify(value) ?? "null";
      // Keeps the digits of large integers, so that readers of the trail do not round them.
      if (mayHoldLargeInteger(text)) text = JSON.stringify(withDigits(value));
      text = this.#redactor.jsonText(text);
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
