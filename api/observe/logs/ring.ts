/**
 * Keeps the last lines of the server's log in memory, bounded in number and size; the oldest go first. Lines arrive
 * redacted and are parsed on request. Numbers increase for as long as the server runs.
 */
import { randomBytes } from "node:crypto";
import { type LogRecord, readLine, shortenLine } from "./record.ts";

const MAX_RECORDS = 10_000;
/** UTF-16 units of all lines together. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
const MAX_LINE_CHARACTERS = 16 * 1024;
const NOTICE_DELAY_MS = 50;

interface Entry {
  line: string;
  record: LogRecord | null;
}

/** Position in the log of one start of one server. */
export interface LogPosition {
  epoch: string;
  number: number;
}

export interface LogRing {
  /** Identifies this start of this server, because other starts reuse the numbers. */
  readonly epoch: string;
  /** Number of the oldest line kept; equals `next` if there is none. */
  readonly oldest: number;
  readonly next: number;
  /** Adds one line, usually a JSON object. Never throws. */
  add(line: string): void;
  /** `number` ranges from `oldest` to below `next`. */
  at(number: number): LogRecord;
  /** Calls back soon after lines were added, until disposed. */
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

/** Returns null for text that `formatPosition` does not write. */
export function parsePosition(text: string): LogPosition | null {
  const [, epoch, number] = /^([0-9a-f]{12})\.(\d{1,15})$/.exec(text) ?? [];
  return epoch === undefined ? null : { epoch, number: Number(number) };
}
