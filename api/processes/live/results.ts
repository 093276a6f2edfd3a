/**
 * A run's results as reported by its environment, redacted and limited: streams, merged output, result, error and
 * warnings.
 */
import type { Redactor } from "#api/secrets/redactor.ts";
import { measureDepth } from "#kernel/json-depth.ts";
import { boundWarnings } from "#runner/host/outcome.ts";
import { type ErrorDetail, MAX_WARNINGS, type PackageUse, type RunWarning } from "#sdk";
import type { RunLimits } from "../model/records.ts";
import { parseReportedError, parseWarning, type ReportedError } from "./ending.ts";
import { RunStreams } from "./streams.ts";

export class RunResults {
  readonly streams: RunStreams;
  result: string | null = null;
  error: ReportedError | null = null;
  packages: readonly PackageUse[] = [];
  readonly #limits: RunLimits;
  readonly #redactor: Redactor;
  /** Null until the script emits output, which most runs never do. */
  #output: OutputMerge | null = null;
  readonly #inputWarnings: RunWarning[] = [];
  #scriptWarnings: readonly RunWarning[] = [];
  #droppedWarnings = 0;
  #droppedInputWarnings = 0;

  constructor(limits: RunLimits, redactor: Redactor) {
    this.#limits = limits;
    this.#redactor = redactor;
    this.streams = new RunStreams({ stdout: limits.maxStdoutBytes, stderr: limits.maxStderrBytes }, redactor);
  }

  /** Returns why the value is invalid, or null. */
  setResult(value: unknown): string | null {
    const json = toCleanJsonText("The result", value, this.#limits.maxResultBytes, this.#redactor);
    if (!json.ok) return json.problem;
    this.result = json.text;
    return null;
  }

  /** Merges emitted output. If it is invalid, changes nothing and returns why; otherwise returns null. */
  emit(data: Record<string, unknown>): string | null {
    this.#output ??= new OutputMerge(this.#limits.maxOutputBytes, this.#redactor);
    return this.#output.merge(data);
  }

  setError(error: string | ErrorDetail): void {
    this.error ??= parseReportedError(error, this.#redactor);
  }

  setWarnings(warnings: readonly RunWarning[], dropped: number): void {
    this.#scriptWarnings = warnings.map((warning) => parseWarning(warning, this.#redactor));
    this.#droppedWarnings = dropped;
  }

  warnOfInput(warning: RunWarning): void {
    if (this.#inputWarnings.length < MAX_WARNINGS) {
      this.#inputWarnings.push(parseWarning(warning, this.#redactor));
    } else this.#droppedInputWarnings += 1;
  }

  recordPackage({ name, version, digest }: PackageUse): void {
    if (this.packages.some((one) => one.digest === digest && one.name === name)) return;
    this.packages = [...this.packages, { name, version, digest }];
  }

  /** Lists warnings about the input first, then about calls, then about the script. */
  listWarnings(
    calls: { warnings: readonly RunWarning[]; droppedWarnings: number } | null,
  ): readonly RunWarning[] {
    const { warnings = [], droppedWarnings = 0 } = calls ?? {};
    return boundWarnings(
      [...this.#inputWarnings, ...warnings, ...this.#scriptWarnings],
      this.#droppedInputWarnings + droppedWarnings + this.#droppedWarnings,
    );
  }

  outputSince(outputs: number): string {
    return this.#output?.textSince(outputs) ?? "{}";
  }

  membersSince(outputs: number): { name: string; member: string }[] {
    return this.#output?.membersSince(outputs) ?? [];
  }

  /** Returns streams as views, valid until the next write. */
  read() {
    return {
      ...this.streams.read(),
      output: this.outputSince(0),
      outputs: this.#output?.version ?? 0,
    };
  }
}

interface OutputMember {
  text: string;
  bytes: number;
  version: number;
}

/**
 * Merged output of a run. The merge is shallow, later keys win, and the size is limited. Each member is stored as the
 * JSON text it was emitted with.
 */
export class OutputMerge {
  readonly #maxBytes: number;
  readonly #redactor: Redactor;
  readonly #members = new Map<string, OutputMember>();
  #bytes = 2;
  #version = 0;

  constructor(maxBytes: number, redactor: Redactor) {
    this.#maxBytes = maxBytes;
    this.#redactor = redactor;
  }

  /** Number of emissions so far, which is a reader's position. */
  get version(): number {
    return this.#version;
  }

  get bytes(): number {
    return this.#bytes;
  }

  merge(data: Record<string, unknown>): string | null {
    const merged = new Map<string, OutputMember>();
    let bytes = this.#bytes;
    let count = this.#members.size;
    for (const [given, value] of Object.entries(data)) {
      if (value === undefined) continue;
      const key = this.#redactor.text(given);
      const json = toCleanJsonText("output", value, this.#maxBytes, this.#redactor);
      if (!json.ok) return json.problem;
      const name = JSON.stringify(key);
      const member = {
        text: `${name}:${json.text}`,
        bytes: Buffer.byteLength(name) + 1 + json.bytes,
        version: this.#version + 1,
      };
      const before = merged.get(key) ?? this.#members.get(key);
      bytes += member.bytes - (before?.bytes ?? 0);
      if (!before) {
        count += 1;
        if (count > 1) bytes += 1;
      }
      if (bytes > this.#maxBytes)
        return `output is more than ${this.#maxBytes} bytes of JSON, which is all that is kept.`;
      merged.set(key, member);
    }
    this.#version += 1;
    this.#bytes = bytes;
    for (const [key, member] of merged) this.#members.set(key, member);
    return null;
  }

  text(): string {
    return this.textSince(0);
  }

  /** Returns the complete members set by emissions after `version`, as JSON text. */
  membersSince(version: number): { name: string; member: string }[] {
    return [...this.#members]
      .filter(([, member]) => member.version > version)
      .map(([key, { text }]) => ({ name: JSON.stringify(key), member: text }));
  }

  textSince(version: number): string {
    const parts: string[] = [];
    for (const member of this.#members.values()) {
      if (member.version > version) parts.push(member.text);
    }
    return `{${parts.join(",")}}`;
  }
}

export const MAX_VALUE_DEPTH = 512;

export type JsonText = { ok: true; text: string; bytes: number } | { ok: false; problem: string };

/**
 * Serializes a value as JSON; `undefined` becomes `null`. Rejects cycles, bigints, nesting beyond 512 levels and more
 * than `maxBytes`.
 */
export function toJsonText(what: string, value: unknown, maxBytes: number): JsonText {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    const problem =
      error instanceof RangeError ? `${what} is nested too deeply.` : `${what} cannot be written as JSON.`;
    return { ok: false, problem };
  }
  text ??= "null";
  const json = Buffer.from(text);
  const bytes = json.length;
  if (bytes > maxBytes)
    return { ok: false, problem: `${what} is ${bytes} bytes of JSON; at most ${maxBytes} are kept.` };
  if (measureDepth(json, MAX_VALUE_DEPTH) > MAX_VALUE_DEPTH) {
    return { ok: false, problem: `${what} is nested deeper than ${MAX_VALUE_DEPTH} levels.` };
  }
  return { ok: true, text, bytes };
}

/** Like `toJsonText`, but redacts secrets. The limit applies before redaction. */
export function toCleanJsonText(
  what: string,
  value: unknown,
  maxBytes: number,
  redactor: Pick<Redactor, "jsonText">,
): JsonText {
  const json = toJsonText(what, value, maxBytes);
  if (!json.ok) return json;
  const text = redactor.jsonText(json.text);
  return text === json.text ? json : { ok: true, text, bytes: Buffer.byteLength(text) };
}
