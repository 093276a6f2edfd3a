/** The merged output of a run: shallow, later keys win, bounded. Each key is kept as the JSON text it was emitted with. */
import type { Redactor } from "#api/secrets/redactor.ts";
import { measureDepth } from "#kernel/json-depth.ts";

interface OutputMember {
  text: string;
  bytes: number;
  /** The emission that set it last. */
  version: number;
}

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

  /** How many times output was emitted: a reader's position. */
  get version(): number {
    return this.#version;
  }

  /** Bytes of `text()`. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Merges, or changes nothing and says what was too large or no JSON. */
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

  /** The whole output as JSON text. */
  text(): string {
    return this.textSince(0);
  }

  /** What emissions after `version` have set: names and whole members as JSON text. */
  membersSince(version: number): { name: string; member: string }[] {
    return [...this.#members]
      .filter(([, member]) => member.version > version)
      .map(([key, { text }]) => ({ name: JSON.stringify(key), member: text }));
  }

  /** What emissions after `version` have set, as JSON text of one object. */
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
 * JSON text of a value from an environment; `undefined` becomes `null`. Refuses what is no JSON (cycles, bigints), nests
 * deeper than 512 or is larger than `maxBytes`.
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

/** As `toJsonText`, without secrets. The limit is for the value as it was given. */
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

/** Postgres text holds no NUL. */
export function withoutNul(text: string): string {
  return text.replaceAll("\0", "\ufffd");
}
