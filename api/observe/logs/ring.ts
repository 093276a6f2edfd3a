/**
 * Keeps the last log lines in memory, limited in number and size; the oldest are dropped first. Lines arrive redacted
 * and are parsed on request. Line numbers increase for as long as the server runs.
 */
import { randomBytes } from "node:crypto";
import { type LogRecord, readLine, shortenLine } from "./record.ts";

const MAX_RECORDS = 10_000;
/** Maximum UTF-16 units of all lines together. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
const MAX_LINE_CHARACTERS = 16 * 1024;
const NOTICE_DELAY_MS = 50;

interface Entry {
  line: string;
  record: LogRecord | null;
}

export interface LogPosition {
  epoch: string;
  number: number;
}

export interface LogRing {
  /** Identifies this start of this server, because line numbers begin again at each start. */
  readonly epoch: string;
  /** Number of the oldest stored line; equals `next` if there is none. */
  readonly oldest: number;
  readonly next: number;
  /** Adds one line, usually a JSON object. Never throws. */
  add(line: string): void;
  /** Returns a record. `number` must be at least `oldest` and less than `next`. */
  at(number: number): LogRecord;
  /** Calls back soon after lines are added, until disposed. */
  watch(changed: () => void): Disposable;
}

export interface LogRingLimits {
  maxRecords: number;
  maxCharacters: number;
}

export function createLogRing(
  { maxRecords, maxCharacters }: LogRingLimits = { maxRecords: MAX_RECORDS, maxCharacters: MAX_CHARACTERS },
): LogRing {
  const epoch = randomBytes(6).toString("hex");
  const entries: (Entry | undefined)[] = new Array(maxRecords);
  const watchers = new Set<() => void>();
  let oldest = 1;
  let next = 1;
  let characters = 0;
  let notice: NodeJS.Timeout | null = null;

  function dropOldest(): void {
    const index = oldest % maxRecords;
    characters -= entries[index]?.line.length ?? 0;
    entries[index] = undefined;
    oldest += 1;
  }

  function notify(): void {
    notice = null;
    for (const changed of [...watchers]) changed();
  }

  return {
    epoch,
    get oldest() {
      return oldest;
    },
    get next() {
      return next;
    },
    add(line) {
      const kept = line.length > MAX_LINE_CHARACTERS ? shortenLine(line) : line;
      if (next - oldest >= maxRecords) dropOldest();
      entries[next % maxRecords] = { line: kept, record: null };
      next += 1;
      characters += kept.length;
      while (characters > maxCharacters && next - oldest > 1) dropOldest();
      if (watchers.size > 0 && notice === null) notice = setTimeout(notify, NOTICE_DELAY_MS).unref();
    },
    at(number) {
      const entry = number >= oldest && number < next ? entries[number % maxRecords] : undefined;
      if (entry === undefined)
        throw new RangeError(`log line ${number} is not kept: ${oldest} to ${next - 1} are`);
      entry.record ??= readLine(entry.line);
      return entry.record;
    },
    watch(changed) {
      watchers.add(changed);
      return { [Symbol.dispose]: () => void watchers.delete(changed) };
    },
  };
}

export function formatPosition({ epoch, number }: LogPosition): string {
  return `${epoch}.${number}`;
}

/** Parses a position. Returns null unless the text was written by `formatPosition`. */
export function parsePosition(text: string): LogPosition | null {
  const [, epoch, number] = /^([0-9a-f]{12})\.(\d{1,15})$/.exec(text) ?? [];
  return epoch === undefined ? null : { epoch, number: Number(number) };
}
