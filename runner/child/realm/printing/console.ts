/**
 * `console` of a script: log, info and debug go to stdout; warn, error and trace go to stderr, formatted like Node's
 * inspector. The formatter is loaded with the first value that needs it; plain strings and numbers never do.
 */

import { cutAt, utf8Length } from "../json/encode.ts";
import { inspection, run } from "../limits.ts";
import {
  defineHidden,
  indexOf,
  MathTrunc,
  mapDelete,
  mapGet,
  mapSet,
  RealmMap,
  ReflectDeleteProperty,
  repeat,
  StringOf,
  slice,
} from "../primordials.ts";
import { nowMs } from "../replayable.ts";
import { quote, sendNotification } from "../sending.ts";
import { formatPlain } from "./plain-format.ts";

type Stream = "stdout" | "stderr";

const GROUP_INDENT = 2;
const MAX_GROUPS = 100;
let groups = 0;

const counts = new RealmMap<string, number>();
const started = new RealmMap<string, number>();

let loaded: typeof import("./format.ts") | null = null;

/** Runs `use` with the formatter. Meanwhile nodes of `tools` can be inspected. */
function withFormatter(use: (formatter: typeof import("./format.ts")) => string): string {
  const outer = inspection.active;
  inspection.active = true;
  try {
    return use(loadFormatter());
  } finally {
    inspection.active = outer;
  }
}

/** The inspector copies the members of `Atomics`, which a script lacks, so it gets an empty one while it loads. */
export function loadFormatter(): typeof import("./format.ts") {
  if (loaded !== null) return loaded;
  defineHidden(globalThis, "Atomics", {});
  try {
    loaded = require("./format.ts") as typeof import("./format.ts");
  } finally {
    ReflectDeleteProperty(globalThis, "Atomics");
  }
  return loaded;
}

function format(args: unknown[]): string {
  const first = args[0];
  if (typeof first !== "string" || args.length === 1 || indexOf(first, "%") === -1) {
    const text = formatPlain(args);
    if (text !== null) return text;
  }
  return withFormatter((formatter) => formatter.formatArguments(args));
}

function print(stream: Stream, text: string, level?: "debug" | "warn"): void {
  if (groups === 0) writeStream(stream, `${text}\n`, level);
  else {
    const indent = repeat(" ", groups * GROUP_INDENT);
    writeStream(
      stream,
      `${indent}${withFormatter((formatter) => formatter.indentLines(text, indent))}\n`,
      level,
    );
  }
}

function labelOf(label: unknown): string {
  return label === undefined ? "default" : StringOf(label);
}

function elapsed(method: string, label: string, extra: unknown[]): void {
  const start = mapGet(started, label) as number | undefined;
  if (start === undefined) {
    print("stderr", `Warning: No such label '${label}' for console.${method}()`);
  } else {
    const text = `${label}: ${StringOf(nowMs() - start)}ms`;
    print("stdout", extra.length === 0 ? text : `${text} ${format(extra)}`);
  }
}

export const consoleGlobal = {
  log(...args: unknown[]): void {
    print("stdout", format(args));
  },
  info(...args: unknown[]): void {
    print("stdout", format(args));
  },
  debug(...args: unknown[]): void {
    print("stdout", format(args), "debug");
  },
  warn(...args: unknown[]): void {
    print("stderr", format(args), "warn");
  },
  error(...args: unknown[]): void {
    print("stderr", format(args));
  },
  trace(...args: unknown[]): void {
    print(
      "stderr",
      withFormatter((formatter) => formatter.formatTrace(format(args))),
    );
  },
  assert(condition?: unknown, ...args: unknown[]): void {
    if (condition) return;
    print(
      "stderr",
      args.length === 0 ? "Assertion failed" : withFormatter((formatter) => formatter.formatAssertion(args)),
    );
  },
  dir(value?: unknown, options?: object): void {
    print(
      "stdout",
      withFormatter((formatter) => formatter.inspectValue(value, options)),
    );
  },
  dirxml(...args: unknown[]): void {
    print("stdout", format(args));
  },
  table(data?: unknown, columns?: string[]): void {
    if (typeof data !== "object" || data === null) print("stdout", format([data]));
    else
      print(
        "stdout",
        withFormatter((formatter) => formatter.formatTable(data, columns)),
      );
  },
  group(...args: unknown[]): void {
    if (args.length > 0) print("stdout", format(args));
    if (groups < MAX_GROUPS) groups++;
  },
  groupCollapsed(...args: unknown[]): void {
    if (args.length > 0) print("stdout", format(args));
    if (groups < MAX_GROUPS) groups++;
  },
  groupEnd(): void {
    if (groups > 0) groups--;
  },
  count(label?: unknown): void {
    const key = labelOf(label);
    const count = ((mapGet(counts, key) as number | undefined) ?? 0) + 1;
    mapSet(counts, key, count);
    print("stdout", `${key}: ${StringOf(count)}`);
  },
  countReset(label?: unknown): void {
    const key = labelOf(label);
    if (!mapDelete(counts, key)) print("stderr", `Warning: Count for '${key}' does not exist`);
  },
  time(label?: unknown): void {
    const key = labelOf(label);
    if (mapGet(started, key) === undefined) mapSet(started, key, nowMs());
    else print("stderr", `Warning: Label '${key}' already exists for console.time()`);
  },
  timeLog(label?: unknown, ...args: unknown[]): void {
    elapsed("timeLog", labelOf(label), args);
  },
  timeEnd(label?: unknown): void {
    const key = labelOf(label);
    elapsed("timeEnd", key, []);
    mapDelete(started, key);
  },
  /** No inspector records these. */
  timeStamp(): void {},
  profile(): void {},
  profileEnd(): void {},
};

/** A UTF-16 unit takes at most six bytes of JSON text (`\u0000`). */
const MAX_BYTES_PER_UNIT = 6;
const ENVELOPE_BYTES = 100;

const sent = { stdout: 0, stderr: 0 };

/**
 * Sends text at once, in messages that the host accepts, up to the stream's limit. The first byte beyond the limit is
 * also sent, so that the host knows the output is cut.
 */
function writeStream(stream: Stream, text: string, level?: "debug" | "warn"): void {
  const maxBytes = stream === "stdout" ? run.limits.maxStdoutBytes : run.limits.maxStderrBytes;
  const left = maxBytes - sent[stream];
  if (left < 0 || text === "") return;
  // Every unit takes at least one byte, so a text over `left` bytes is still over it after the cut.
  let rest = cutAt(text, left + 2);
  sent[stream] += utf8Length(rest);
  const maxUnits = MathTrunc((run.limits.maxMessageBytes - ENVELOPE_BYTES) / MAX_BYTES_PER_UNIT);
  while (rest !== "") {
    const piece = cutAt(rest, maxUnits);
    sendNotification(stream, `{"text":${quote(piece)}${level === undefined ? "" : `,"level":"${level}"`}}`);
    rest = slice(rest, piece.length);
  }
}
