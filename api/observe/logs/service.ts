/**
 * Pages and live streams of the server's log. Each follower reads the ring at its own pace and is notified when it
 * falls behind. Lines are redacted again before they are returned, with all secrets known by then.
 */
import type { PageRequest } from "#api/bounds/page.ts";
import { AppError } from "#api/errors.ts";
import type { LogAnswer, LogFilter } from "./model.ts";
import { LOG_LEVELS, type LogRecord } from "./record.ts";
import { formatPosition, type LogPosition, type LogRing, parsePosition } from "./ring.ts";

const PING_INTERVAL_MS = 15_000;
const MAX_FOLLOWERS = 100;
const RETRY_SECONDS = 30;
const MAX_CHUNK_CHARACTERS = 64 * 1024;
/** Records examined before the event loop handles other requests. */
const MAX_RECORDS_AT_ONCE = 250;

export interface Logs extends Disposable {
  /** Returns records, newest first. `before` selects older records; `next` is the start of the next page, or null. */
  list(
    filter: LogFilter,
    page: PageRequest<LogPosition>,
  ): Promise<{ logs: LogAnswer[]; next: LogPosition | null }>;
  /**
   * Yields server-sent events as text, from now on or after `lastEventId`: `log` for each record, `reset` if records
   * were missed. `signal` must abort when the client disconnects. Throws AppError `too_many_streams`.
   */
  follow(filter: LogFilter, lastEventId: string | null, signal: AbortSignal): AsyncGenerator<string, void>;
}

export interface LogsDeps {
  ring: LogRing;
  /** Redactor that knows all secrets, including those added after a line was written. */
  redactor: { value<T>(json: T): T };
}

export function createLogs({ ring, redactor }: LogsDeps): Logs {
  const closed = new AbortController();
  let followers = 0;

  /** Returns the redacted record, or null if the filter excludes it. */
  function show(number: number, filter: LogFilter): LogAnswer | null {
    const record = ring.at(number);
    if (!fits(record, filter)) return null;
    const { timeMs, ...rest } = record;
    const shown = redactor.value({
      id: formatPosition({ epoch: ring.epoch, number }),
      time: new Date(timeMs).toISOString(),
      ...rest,
    });
    if (typeof shown !== "object") return null;
    // Search only the redacted text, so that a search reveals nothing hidden.
    return filter.query === undefined || holds(shown, filter.query) ? shown : null;
  }

  function findStart(lastEventId: string | null): number | null {
    if (lastEventId === null) return ring.next;
    const position = parsePosition(lastEventId);
    const isOurs = position?.epoch === ring.epoch && position.number < ring.next;
    return isOurs ? position.number + 1 : null;
  }

  async function* read(
    filter: LogFilter,
    lastEventId: string | null,
    signal: AbortSignal,
  ): AsyncGenerator<string, void> {
    const over = AbortSignal.any([signal, closed.signal]);
    let wake: (reason: "time" | "change") => void = () => {};
    let changed = false;
    const onChange = () => {
      changed = true;
      wake("change");
    };
    using _watching = ring.watch(onChange);
    over.addEventListener("abort", onChange, { once: true });
    try {
      let from = findStart(lastEventId);
      yield ": ping\n\n";
      while (!over.aborted) {
        changed = false;
        if (from === null || from < ring.oldest) {
          from = ring.oldest;
          const id = formatPosition({ epoch: ring.epoch, number: from - 1 });
          yield `id: ${id}\nevent: reset\ndata: {}\n\n`;
          continue;
        }
        let chunk = "";
        const end = Math.min(ring.next, from + MAX_RECORDS_AT_ONCE);
        while (from < end && chunk.length < MAX_CHUNK_CHARACTERS) {
          const record = show(from, filter);
          if (record !== null) chunk += `id: ${record.id}\nevent: log\ndata: ${JSON.stringify(record)}\n\n`;
          from += 1;
        }
        if (chunk !== "") yield chunk;
        if (from < ring.next) await new Promise(setImmediate);
        else if (!changed) {
          const { promise, resolve } = Promise.withResolvers<"time" | "change">();
          wake = resolve;
          const timer = setTimeout(resolve, PING_INTERVAL_MS, "time");
          const reason = await promise;
          clearTimeout(timer);
          if (reason === "time") yield ": ping\n\n";
        }
      }
    } finally {
      over.removeEventListener("abort", onChange);
    }
  }

  return {
    async list(filter, { from: before, limit }) {
      if (before !== null && before.epoch !== ring.epoch) {
        throw new AppError(
          "invalid_cursor",
          "The cursor belongs to another server, or to this one before its last start. Start again without it.",
        );
      }
      const logs: LogAnswer[] = [];
      let looked = 0;
      const newest = Math.min(before?.number ?? ring.next, ring.next) - 1;
      for (let number = newest; number >= ring.oldest; number -= 1) {
        looked += 1;
        if (looked % MAX_RECORDS_AT_ONCE === 0) await new Promise(setImmediate);
        if (number < ring.oldest) break;
        const record = show(number, filter);
        if (record === null) continue;
        if (logs.length === limit) return { logs, next: { epoch: ring.epoch, number: number + 1 } };
        logs.push(record);
      }
      return { logs, next: null };
    },

    follow(filter, lastEventId, signal) {
      if (followers >= MAX_FOLLOWERS) {
        throw new AppError(
          "too_many_streams",
          `${MAX_FOLLOWERS} clients already follow the log of this server. Close one, or read GET /logs.`,
          { retryAfterSeconds: RETRY_SECONDS },
        );
      }
      if (!signal.aborted) {
        followers += 1;
        const leave = () => {
          followers -= 1;
        };
        signal.addEventListener("abort", leave, { once: true });
      }
      return read(filter, lastEventId, signal);
    },

    [Symbol.dispose]: () => closed.abort(),
  };
}

function fits(record: LogRecord, filter: LogFilter): boolean {
  const { level, levelMin, from, to } = filter;
  if (level !== undefined && record.level !== level) return false;
  if (levelMin !== undefined && LOG_LEVELS.indexOf(record.level) < LOG_LEVELS.indexOf(levelMin)) return false;
  for (const name of ["type", "processId", "serviceId", "toolId", "requestId"] as const) {
    if (filter[name] !== undefined && record[name] !== filter[name]) return false;
  }
  if (from !== undefined && record.timeMs < from.getTime()) return false;
  return to === undefined || record.timeMs < to.getTime();
}

function holds(shown: LogAnswer, query: string): boolean {
  const { message, fields, requestId, serviceId, toolId } = shown;
  const text = [message, requestId, serviceId, toolId, JSON.stringify(fields)].join("\n");
  return text.toLowerCase().includes(query.toLowerCase());
}
