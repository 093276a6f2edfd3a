/** Parts of an ExecutionResult that all runtimes build alike: log lines from streamed text, and the error. */
import type { ExecutionResult, LogLine } from "./model.ts";

/** Maximum number of lines kept per run. */
const MAX_LOG_LINES = 100_000;

export interface LogLines {
  add(level: LogLine["level"], text: string): void;
  /** Returns all lines; the last one of each stream may be incomplete. */
  lines(): LogLine[];
}

export function createLogLines(): LogLines {
  const complete: LogLine[] = [];
  const unfinished = { debug: "", info: "", warn: "", error: "" };
  return {
    add(level, text) {
      const pieces = (unfinished[level] + text).split("\n");
      unfinished[level] = pieces.pop() ?? "";
      for (const message of pieces) if (complete.length < MAX_LOG_LINES) complete.push({ level, message });
    },
    lines: () => [
      ...complete,
      ...(["debug", "info", "warn", "error"] as const)
        .filter((level) => unfinished[level] !== "")
        .map((level) => ({ level, message: unfinished[level] })),
    ],
  };
}

interface ErrorParts {
  name?: string;
  stack?: string | null | undefined;
  line?: number | null | undefined;
  column?: number | null | undefined;
  file?: string | null | undefined;
}

/** Returns an empty object for a run without an error. */
export function describeError(
  message: string | null | undefined,
  parts: ErrorParts | null | undefined,
): Pick<ExecutionResult, "error" | "errorDetail"> {
  if (message == null) return {};
  const { name = "Error", stack, line, column, file } = parts ?? {};
  return {
    error: message,
    errorDetail: {
      name,
      message,
      ...(stack != null && { stack }),
      ...(line != null && { line }),
      ...(column != null && { column }),
      ...(file != null && { file }),
    },
  };
}
