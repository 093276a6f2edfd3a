/**
 * How the run ends: the first outcome wins. A result waits for the end of the turn, so that a rejection nobody
 * handles still fails the run; a failure is sent at once.
 */
import { hasEnded, sendEnd, sendTimer } from "./frames.ts";
import { encodeJson } from "./json.ts";
import { MAX_RESULT_DEPTH, run } from "./limits.ts";
import { RealmError, StringOf } from "./primordials.ts";
import { endsEarly, WAKE_TIMER_ID } from "./replay.ts";
import { describeThrown, encodeFailure } from "./thrown.ts";

let result: string | null = null;
let mayWaitOnItsOwn = false;

/** With WebAssembly the engine itself settles promises, outside of every call of the embedder. */
export function allowWaitingOnItsOwn(): void {
  mayWaitOnItsOwn = true;
}

function isSettled(): boolean {
  return result !== null || hasEnded();
}

/** The script's promise resolved. */
export function succeed(value: unknown): void {
  if (isSettled()) return;
  try {
    const maxBytes = run.limits.maxResultBytes;
    const { text, bytes, tooLarge } = encodeJson(value, {
      name: "result",
      maxDepth: MAX_RESULT_DEPTH,
      maxBytes,
    });
    if (tooLarge) failTooLarge("result", bytes, maxBytes);
    else result = text === undefined ? '{"ok":true}' : `{"ok":true,"result":${text}}`;
    if (mayWaitOnItsOwn) sendTimer(WAKE_TIMER_ID, 0);
  } catch (error) {
    fail(error);
  }
}

/** The script threw, rejected without a handler, or waits for nothing. */
export function fail(reason: unknown): void {
  if (hasEnded() || endsEarly()) return;
  sendEnd(encodeFailure("script_error", describeThrown(reason)));
}

/** Sizes in bytes of JSON text. */
export function failTooLarge(what: "result" | "output", bytes: number, maxBytes: number): void {
  const advice = what === "result" ? "Return a summary" : "Emit a summary";
  if (endsEarly()) return;
  const message = `The ${what} is ${StringOf(bytes)} bytes of JSON; at most ${StringOf(maxBytes)} are kept. ${advice}, or send the data to a service.`;
  sendEnd(
    encodeFailure("output_limit", { ...describeThrown(new RealmError(message)), name: "OutputLimitError" }),
  );
}

/**
 * The end of a turn: nothing of the script is running and no microtask is waiting. `isWaiting`: a call or a timer is
 * open, so the script may still settle.
 */
export function endTurn(isWaiting: boolean): void {
  if (hasEnded()) return;
  if (result !== null) {
    if (!endsEarly()) sendEnd(result);
  } else if (!isWaiting && !mayWaitOnItsOwn) {
    fail(
      new RealmError(
        "The script awaits something that can never happen: no call, no timer and nothing else is left that could settle its promise.",
      ),
    );
  }
}
