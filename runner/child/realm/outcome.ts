/**
 * Decides how the run ends: the first outcome wins, and a failure is sent immediately. After a script has returned,
 * the run waits for the work that it started (README.md: "The end of a run"). A rejection that is still unhandled
 * then fails the run.
 */

import type { EndParams } from "../../wire/protocol.ts";
import { LAST_VALUE } from "../../wire/realm-constants.ts";
import { endsEarly, WAKE_TIMER_ID, wentOn } from "./journal.ts";
import { cutAt, encodeJson } from "./json/encode.ts";
import { MAX_RESULT_DEPTH, run } from "./limits.ts";
import {
  ArrayIsArray,
  ErrorIsError,
  ObjectGetPrototypeOf,
  ObjectHasOwn,
  own,
  RealmError,
  StringOf,
  symbolToString,
} from "./primordials.ts";
import { hasEnded, quote, sendEnd as sendLast, sendTimer } from "./sending.ts";
import { type Position, positionOf, readPosition, sourceName } from "./stacks.ts";
import { findUnhandled, warnOfUnobserved, warnOfUnseen } from "./unawaited.ts";
import {
  countDroppedWarnings,
  describeNull,
  type HeldWarnings,
  holdWarning,
  sendHeldWarnings,
} from "./warnings.ts";

export interface LeftWork {
  /**
   * Returns whether there are calls, or timers set by code that continued after one. A run does not end before them.
   */
  isOpen(): boolean;
  /** Returns whether there are calls or any timers, so that the script may still settle. */
  canContinue(): boolean;
  warnOfDropped(): void;
}

let returned: { value: unknown } | null = null;
let result: string | null = null;
/** Warnings about the result, held back until the end because the result may be encoded again. */
let resultWarnings: HeldWarnings | null = null;
let isSealed = false;
let draining = false;
let mayWaitOnItsOwn = false;

/** With WebAssembly, the engine settles promises by itself, without a call from the embedder. */
export function allowWaitingOnItsOwn(): void {
  mayWaitOnItsOwn = true;
}

function sendEnd(params: string): void {
  sendLast(params, countDroppedWarnings());
}

/** Returns whether the script has returned and calls were open at the end of that turn. */
export function isDraining(): boolean {
  return draining;
}

export function succeed(value: unknown, left: LeftWork): void {
  if (returned !== null || hasEnded()) return;
  returned = { value };
  // Most scripts have awaited everything, so this is their only turn.
  if (!left.isOpen()) encodeResult(value, left);
  if (mayWaitOnItsOwn) sendTimer(WAKE_TIMER_ID, 0);
}

/** Drops the encoded result because an event reaches the script, which may still change the returned value. */
export function dropResult(): void {
  if (!isSealed) result = null;
}

function encodeResult(value: unknown, left: LeftWork): void {
  const last = readLastValue(value);
  resultWarnings = null;
  try {
    const maxBytes = run.limits.maxResultBytes;
    const { text, bytes, tooLarge } = encodeJson(last === null ? value : last.value, {
      name: "result",
      maxDepth: MAX_RESULT_DEPTH,
      maxBytes,
      onNull(path, found) {
        resultWarnings = holdWarning(resultWarnings, describeNull(path, found));
      },
    });
    if (tooLarge && last !== null)
      dropLastValue(`${StringOf(bytes)} bytes are more than the ${StringOf(maxBytes)} that are kept`);
    else if (tooLarge) failTooLarge("result", bytes, maxBytes);
    else result = text === undefined ? '{"ok":true}' : `{"ok":true,"result":${text}}`;
    // A getter or toJSON made a call, which must not be repeated.
    if (left.isOpen()) isSealed = true;
  } catch (error) {
    if (last === null) fail(error);
    else dropLastValue(describeThrown(error).message);
  }
}

/** Drops the value of the last expression. A script without `return` must not fail because of it. */
function dropLastValue(why: string): void {
  resultWarnings = holdWarning(null, {
    code: "value_not_json",
    message: `The value of the last expression is not the result: ${why}. Return what should be the result.`,
    path: "result",
  });
  result = '{"ok":true}';
}

function readLastValue(value: unknown): { value: unknown } | null {
  if (typeof value !== "object" || value === null || ObjectGetPrototypeOf(value) !== null) return null;
  return ObjectHasOwn(value, LAST_VALUE) ? { value: own(value, LAST_VALUE) } : null;
}

/** Handles an error that the script threw, or a script that nothing can continue. */
export function fail(reason: unknown): void {
  if (hasEnded() || endsEarly()) return;
  sendEnd(encodeFailure("script_error", describeThrown(reason)));
}

/** Fails the run because of a size, in bytes of JSON text. */
export function failTooLarge(what: "result" | "output", bytes: number, maxBytes: number): void {
  const advice = what === "result" ? "Return a summary" : "Emit a summary";
  if (endsEarly()) return;
  const message = `The ${what} is ${StringOf(bytes)} bytes of JSON; at most ${StringOf(maxBytes)} are kept. ${advice}, or send the data to a service.`;
  sendEnd(
    encodeFailure("output_limit", { ...describeThrown(new RealmError(message)), name: "OutputLimitError" }),
  );
}

/** Ends a turn: no script code is running and no microtask is waiting. */
export function endTurn(left: LeftWork): void {
  if (hasEnded()) return;
  if (returned === null) {
    if (!left.canContinue() && !mayWaitOnItsOwn && !failByRejection()) fail(new RealmError(NEVER_SETTLES));
  } else if (left.isOpen() || wentOn()) {
    draining = true;
  } else {
    if (result === null) {
      const { value } = returned;
      encodeResult(value, left);
      if (hasEnded()) return;
      // The object's getters and toJSON may have started work.
      if (typeof value === "object" && value !== null) {
        sendTimer(WAKE_TIMER_ID, 0);
        return;
      }
    }
    if (failByRejection()) return;
    if (resultWarnings !== null) sendHeldWarnings(resultWarnings);
    left.warnOfDropped();
    warnOfUnobserved();
    warnOfUnseen();
    sendEnd(result as unknown as string);
  }
}
const NEVER_SETTLES =
  "The script awaits something that can never happen: no call, no timer and nothing else is left that could settle its promise.";

/** Fails the run with the first unhandled rejection. Returns whether there was one. */
function failByRejection(): boolean {
  const unhandled = findUnhandled();
  if (unhandled === null || endsEarly()) return unhandled !== null;
  const { reason, call } = unhandled;
  const detail = describeThrown(reason);
  const { position } = detail;
  const place = position === undefined ? "" : ` (line ${StringOf(position.line)})`;
  const what = call === undefined ? "A promise was rejected" : `${call.name}${place} failed`;
  detail.message = `${what}, and no code handled it: ${detail.message}`;
  sendEnd(encodeFailure("unhandled_rejection", detail));
  return true;
}

interface ThrownDetail {
  name: string;
  message: string;
  stack: string;
  position?: Position | undefined;
}

const MAX_NAME_CHARS = 1000;
const MAX_MESSAGE_CHARS = 100_000;
const MAX_STACK_CHARS = 100_000;
const MAX_PREVIEW_BYTES = 2000;
const MAX_CAUSES = 5;

/**
 * Describes anything a script threw, in bounded strings only. Never throws, even if getters, proxies or conversions
 * of the value do.
 */
function describeThrown(value: unknown): ThrownDetail {
  const detail = describeOne(value);
  let cause: unknown = value;
  for (let count = 0; count < MAX_CAUSES && detail.stack.length < MAX_STACK_CHARS; count++) {
    cause = readCause(cause);
    if (cause === undefined) break;
    const { name, message, stack } = describeOne(cause);
    detail.stack += `\nCaused by: ${stack === "" ? `${name}: ${message}` : stack}`;
  }
  detail.stack = cutAt(detail.stack, MAX_STACK_CHARS);
  return detail;
}

function encodeFailure(reason: Extract<EndParams, { ok: false }>["reason"], detail: ThrownDetail): string {
  const { name, message, stack, position } = detail;
  const place =
    position === undefined ? "" : `,"line":${StringOf(position.line)},"column":${StringOf(position.column)}`;
  const file =
    position === undefined || position.source === 0 ? "" : `,"file":${quote(sourceName(position.source))}`;
  return `{"ok":false,"reason":"${reason}","error":{"name":${quote(name)},"message":${quote(message)},"stack":${quote(stack)}${place}${file}}}`;
}

function describeOne(value: unknown): ThrownDetail {
  try {
    if (ErrorIsError(value)) return describeError(value);
    if (typeof value === "object" && value !== null) return describeObject(value);
    if (typeof value === "function") return plain("The script threw a function instead of an Error.");
    return plain(typeof value === "symbol" ? symbolToString(value) : StringOf(value));
  } catch {
    return plain("The script threw a value that cannot be described.");
  }
}

function plain(message: string): ThrownDetail {
  return { name: "Error", message: cutAt(message, MAX_MESSAGE_CHARS), stack: "" };
}

/** Node globals that a script lacks, with what to use instead. */
const ADVICE: Record<string, string> = {
  "Buffer is not defined": ': import { Buffer } from "node:buffer", or use Uint8Array.',
  "process is not defined":
    ": what a script is given is in cyrnel.input, and there are no environment variables.",
};

function describeError(error: Error): ThrownDetail {
  const name = readText(error, "name") || "Error";
  let message = readText(error, "message") ?? "";
  const errors = own(error, "errors");
  if (message === "" && ArrayIsArray(errors) && errors.length > 0) {
    message = `${StringOf(errors.length)} errors; the first: ${describeOne(errors[0]).message}`;
  }
  if (name === "ReferenceError") message += (own(ADVICE, message) as string | undefined) ?? "";
  const stack = readText(error, "stack") ?? "";
  return {
    name: cutAt(name, MAX_NAME_CHARS),
    message: cutAt(message, MAX_MESSAGE_CHARS),
    stack: cutAt(stack, MAX_STACK_CHARS),
    position: positionOf(error) ?? readPosition(stack),
  };
}

function describeObject(value: object): ThrownDetail {
  const message = readText(value, "message");
  if (message !== undefined && message !== "") {
    const name = cutAt(readText(value, "name") || "Error", MAX_NAME_CHARS);
    return { ...plain(message), name };
  }
  return plain(`The script threw an object instead of an Error: ${preview(value)}`);
}

const ignore = () => {};

function preview(value: object): string {
  try {
    const limits = { name: "thrown", maxDepth: 4, maxBytes: MAX_PREVIEW_BYTES, onNull: ignore };
    return encodeJson(value, limits).text ?? "(too large to show)";
  } catch {
    return "(cannot be shown as JSON)";
  }
}

function readText(value: object, key: string): string | undefined {
  try {
    const text = (value as Record<string, unknown>)[key];
    return typeof text === "string" ? text : undefined;
  } catch {
    return undefined;
  }
}

function readCause(value: unknown): unknown {
  try {
    return ErrorIsError(value) ? own(value, "cause") : undefined;
  } catch {
    return undefined;
  }
}
