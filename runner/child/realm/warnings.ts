/**
 * Warnings of a run: problems that did not make it fail. The first MAX_WARNINGS are sent immediately, the number of
 * the others with the end.
 */
import type { MAX_WARNINGS as MaxWarnings, WarningCode } from "#sdk";
import { cutAt } from "./json/encode.ts";
import { StringOf } from "./primordials.ts";
import { quote, sendWarning } from "./sending.ts";
import { type Position, sourceName } from "./stacks.ts";

/**
 * Literals, because importing them would bring a schema library into the realm. The limits match `runWarningSchema`.
 */
const MAX_WARNINGS: typeof MaxWarnings = 50;
const MAX_MESSAGE_CHARS = 2000;
const MAX_PATH_CHARS = 1000;

let count = 0;

export interface Warning {
  code: WarningCode;
  message: string;
  position?: Position | undefined;
  /** Place inside a value, such as `result.items[3]`. */
  path?: string | undefined;
}

export function warn({ code, message, position, path }: Warning): void {
  count++;
  if (count > MAX_WARNINGS) return;
  const place =
    position === undefined ? "" : `,"line":${StringOf(position.line)},"column":${StringOf(position.column)}`;
  const file =
    position === undefined || position.source === 0 ? "" : `,"file":${quote(sourceName(position.source))}`;
  const inside = path === undefined ? "" : `,"path":${quote(cutAt(path, MAX_PATH_CHARS))}`;
  sendWarning(
    `{"code":"${code}","message":${quote(cutAt(message, MAX_MESSAGE_CHARS))}${place}${file}${inside}}`,
  );
}

export function countDroppedWarnings(): number {
  return count > MAX_WARNINGS ? count - MAX_WARNINGS : 0;
}

/** Callback for `onNull` in json/walk.ts. */
export function warnOfNull(path: string, found: string): void {
  warn(describeNull(path, found));
}

export function describeNull(path: string, found: string): Warning {
  return {
    code: "value_not_json",
    message: `${path} is ${found}, which JSON cannot hold; it became null.`,
    path,
  };
}

interface Kept {
  warning: Warning;
  next: Kept | null;
}

export interface HeldWarnings {
  first: Kept;
  last: Kept;
  /** Counts all warnings. At most MAX_WARNINGS of them are stored. */
  count: number;
}

export function holdWarning(held: HeldWarnings | null, warning: Warning): HeldWarnings {
  const kept: Kept = { warning, next: null };
  if (held === null) return { first: kept, last: kept, count: 1 };
  held.count++;
  if (held.count > MAX_WARNINGS) return held;
  held.last.next = kept;
  held.last = kept;
  return held;
}

export function sendHeldWarnings(held: HeldWarnings): void {
  for (let kept: Kept | null = held.first; kept !== null; kept = kept.next) warn(kept.warning);
  if (held.count > MAX_WARNINGS) count += held.count - MAX_WARNINGS;
}
