/** The merged output of a run: shallow, later keys win, bounded. Each key is kept as the JSON text it was emitted with. */
import type { Redactor } from "#api/secrets/redactor.ts";
import { toCleanJsonText } from "./json-text.ts";

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
      if (given === "__proto__" || value === undefined) continue;
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

  /** What emissions after `version` have set, as JSON text of one object. */
  textSince(version: number): string {
    const parts: string[] = [];
    for (const member of this.#members.values()) {
      if (member.version > version) parts.push(member.text);
    }
    return `{${parts.join(",")}}`;
  }
}
