/** Text that comes in pieces, as lines of a log. */
import type { LogLine } from "./model.ts";

/** Lines kept of one run. */
const MAX_LOG_LINES = 100_000;

export interface LogLines {
  add(level: LogLine["level"], text: string): void;
  /** All so far; the last of each stream may not have ended yet. */
  lines(): LogLine[];
}

export function createLogLines(): LogLines {
  const complete: LogLine[] = [];
  const unfinished = { info: "", error: "" };
  return {
    add(level, text) {
      const pieces = (unfinished[level] + text).split("\n");
      unfinished[level] = pieces.pop() ?? "";
      for (const message of pieces) if (complete.length < MAX_LOG_LINES) complete.push({ level, message });
    },
    lines: () => [
      ...complete,
      ...(["info", "error"] as const)
        .filter((level) => unfinished[level] !== "")
        .map((level) => ({ level, message: unfinished[level] })),
    ],
  };
}
