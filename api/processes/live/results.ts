/** What a run leaves: its two streams, its merged output and its result, without secrets and within their limits. */
import type { Redactor } from "#api/secrets/redactor.ts";
import type { RunLimits } from "../model/records.ts";
import { OutputMerge, toCleanJsonText } from "./output.ts";
import { RunStreams } from "./streams.ts";

export class RunResults {
  readonly streams: RunStreams;
  readonly #limits: RunLimits;
  readonly #redactor: Redactor;
  /** Null: nothing was emitted, as in most runs. */
  #output: OutputMerge | null = null;
  #result: string | null = null;

  constructor(limits: RunLimits, redactor: Redactor) {
    this.#limits = limits;
    this.#redactor = redactor;
    this.streams = new RunStreams({ stdout: limits.maxStdoutBytes, stderr: limits.maxStderrBytes }, redactor);
  }

  /** JSON text of what the script returned. */
  get result(): string | null {
    return this.#result;
  }

  /** Takes what the script returned, or says what was too large or no JSON. */
  setResult(value: unknown): string | null {
    const json = toCleanJsonText("The result", value, this.#limits.maxResultBytes, this.#redactor);
    if (!json.ok) return json.problem;
    this.#result = json.text;
    return null;
  }

  dropResult(): void {
    this.#result = null;
  }

  /** Merges emitted output, or changes nothing and says what was too large or no JSON. */
  emit(data: Record<string, unknown>): string | null {
    this.#output ??= new OutputMerge(this.#limits.maxOutputBytes, this.#redactor);
    return this.#output.merge(data);
  }

  /** What emissions after the given number have set, as JSON text of one object. */
  outputSince(outputs: number): string {
    return this.#output?.textSince(outputs) ?? "{}";
  }

  /** All but the result. The streams are views: valid until the next write. */
  read() {
    return {
      ...this.streams.read(),
      output: this.outputSince(0),
      outputs: this.#output?.version ?? 0,
    };
  }
}
