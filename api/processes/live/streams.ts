/** The two output streams of a script: redacted, limited in size, and with the level of each range. */
import { StringDecoder } from "node:string_decoder";
import type { ByteStreamRedactor, Redactor } from "#api/secrets/redactor.ts";
import type { PrintLevel } from "#sdk";
import type { LevelRange, StreamLevels } from "../model/records.ts";

export type StreamName = "stdout" | "stderr";

export class RunStreams {
  readonly stdout: StreamCapture;
  readonly stderr: StreamCapture;
  readonly #maxBytes: Record<StreamName, number>;
  readonly #redactors: Record<StreamName, ByteStreamRedactor>;
  readonly #received = { stdout: 0, stderr: 0 };

  constructor(maxBytes: Record<StreamName, number>, redactor: Redactor) {
    this.#maxBytes = maxBytes;
    this.stdout = new StreamCapture("stdout", maxBytes.stdout);
    this.stderr = new StreamCapture("stderr", maxBytes.stderr);
    this.#redactors = { stdout: redactor.createByteStream(), stderr: redactor.createByteStream() };
  }

  /** Returns false if nothing was stored. */
  write(stream: StreamName, data: Buffer, level?: PrintLevel): boolean {
    if (this[stream].truncated) return false;
    this.#keep(stream, this.#redactors[stream].push(data, level));
    // Counted before redaction, like the environment does, so that shorter redacted text does not make room for
    // dropped data.
    this.#received[stream] += data.length;
    if (this.#received[stream] > this.#maxBytes[stream]) {
      this.#keep(stream, this.#redactors[stream].cut());
      this[stream].truncate();
    }
    return true;
  }

  #keep(stream: StreamName, bytes: Buffer): void {
    const capture = this[stream];
    let from = 0;
    for (const { at, level } of this.#redactors[stream].levels) {
      capture.write(bytes.subarray(from, at));
      capture.level = level;
      from = at;
    }
    capture.write(from === 0 ? bytes : bytes.subarray(from));
  }

  end(): void {
    for (const stream of ["stdout", "stderr"] as const) {
      this.#keep(stream, this.#redactors[stream].end());
      this[stream].end();
    }
  }

  read() {
    const { stdout, stderr } = this;
    const isPlain = stdout.levels.length === 0 && stderr.levels.length === 0;
    const levels: StreamLevels | null = isPlain ? null : { stdout: stdout.levels, stderr: stderr.levels };
    return {
      levels,
      stdout: this.stdout.bytes(),
      stderr: this.stderr.bytes(),
      truncated: { stdout: this.stdout.truncated, stderr: this.stderr.truncated },
    };
  }
}

const FIRST_CAPACITY_BYTES = 1024;
/** Maximum number of ranges stored per stream. Lines beyond them get the stream's default level. */
const MAX_LEVEL_RANGES = 1000;

export interface StreamSlice {
  text: string;
  end: number;
}

/** Stream slice with a single level. Without `level` it has the stream's default level. */
export interface LevelSlice extends StreamSlice {
  level?: PrintLevel;
}

/**
 * Joins characters split across writes; invalid UTF-8 becomes U+FFFD. A notice replaces everything beyond `maxBytes`.
 */
export class StreamCapture {
  level: PrintLevel | undefined;
  readonly levels: LevelRange[] = [];
  readonly #name: string;
  readonly #maxBytes: number;
  readonly #decoder = new StringDecoder("utf8");
  #buffer = Buffer.alloc(0);
  #length = 0;
  #truncated = false;

  constructor(name: "stdout" | "stderr", maxBytes: number) {
    this.#name = name;
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  write(chunk: Buffer): void {
    if (this.#truncated || chunk.length === 0) return;
    this.#append(this.#decoder.write(chunk));
  }

  /** Call after the last write: turns an incomplete character into U+FFFD. */
  end(): void {
    if (!this.#truncated) this.#append(this.#decoder.end());
  }

  /** Returns a view, valid until the next write. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  text(): string {
    return this.bytes().toString("utf8");
  }

  #append(text: string): void {
    if (text === "") return;
    const bytes = Buffer.from(text);
    const room = this.#maxBytes - this.#length;
    const kept = bytes.length <= room ? bytes : bytes.subarray(0, characterBoundary(bytes, room));
    if (this.level !== undefined && kept.length > 0) this.#recordLevel(this.level, kept.length);
    this.#push(kept);
    if (kept.length < bytes.length) this.truncate();
  }

  #recordLevel(level: PrintLevel, length: number): void {
    const last = this.levels.at(-1);
    const end = this.#length + length;
    if (last?.[1] === this.#length && last[2] === level) last[1] = end;
    else if (this.levels.length < MAX_LEVEL_RANGES) this.levels.push([this.#length, end, level]);
  }

  truncate(): void {
    if (this.#truncated) return;
    this.#truncated = true;
    const startsLine = this.#length === 0 || this.#buffer[this.#length - 1] === 0x0a;
    this.#push(
      Buffer.from(`${startsLine ? "" : "\n"}[${this.#name} truncated: more than ${this.#maxBytes} bytes]\n`),
    );
  }

  #push(bytes: Buffer): void {
    const needed = this.#length + bytes.length;
    if (needed > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2, FIRST_CAPACITY_BYTES));
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    bytes.copy(this.#buffer, this.#length);
    this.#length = needed;
  }
}

/**
 * Returns at most `maxBytes` of valid UTF-8 from a position, ending between characters. Returns null at the end of
 * the stream.
 */
export function sliceUtf8(bytes: Buffer, start: number, maxBytes: number): StreamSlice | null {
  if (start >= bytes.length) return null;
  const end = start + characterBoundary(bytes.subarray(start), maxBytes);
  return { text: bytes.toString("utf8", start, end), end };
}

/** Like `sliceUtf8`, but ends the slice where the level changes. */
export function sliceLevel(
  bytes: Buffer,
  ranges: readonly LevelRange[],
  start: number,
  maxBytes: number,
): LevelSlice | null {
  const range = ranges.find(([, end]) => end > start);
  if (range === undefined) return sliceUtf8(bytes, start, maxBytes);
  const [from, to, level] = range;
  if (start < from) return sliceUtf8(bytes, start, Math.min(maxBytes, from - start));
  const slice = sliceUtf8(bytes, start, Math.min(maxBytes, to - start));
  return slice && { ...slice, level };
}

/** Returns the largest length up to `maxBytes` that splits no character. */
function characterBoundary(bytes: Buffer, maxBytes: number): number {
  if (maxBytes >= bytes.length) return bytes.length;
  let cut = Math.max(maxBytes, 0);
  // A byte 10xxxxxx continues the previous character, which has at most three of them.
  while (cut > 0 && ((bytes[cut] ?? 0) & 0xc0) === 0x80) cut -= 1;
  return cut;
}
