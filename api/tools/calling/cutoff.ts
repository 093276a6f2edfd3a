/** The end of a call from outside: whoever asked gives up, or its time is over. One signal for everything it started. */
import { type CallError, refuseCall } from "./failure.ts";

export interface Cutoff extends Disposable {
  /** Aborts with a CallError when the call is cut off. */
  readonly signal: AbortSignal;
  /** Rejects with the same error. */
  readonly cut: Promise<never>;
  /** Lets the time of the call run; counted anew from here. */
  startClock(): void;
  /** Stops the clock, while a person is waited for. */
  stopClock(): void;
  /** Throws the CallError if the call has been cut off. */
  check(): void;
}

export function openCutoff(givenUp: AbortSignal | undefined, maxMs: number): Cutoff {
  const controller = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  const end = (error: CallError) => {
    if (controller.signal.aborted) return;
    controller.abort(error);
    reject(error);
  };
  const onGivenUp = () => end(refuseCall("call_canceled", "The call was canceled."));
  givenUp?.addEventListener("abort", onGivenUp, { once: true });
  if (givenUp?.aborted) onGivenUp();
  return {
    signal: controller.signal,
    cut: promise,
    startClock() {
      clearTimeout(timer);
      timer = setTimeout(() => end(timedOut(maxMs)), maxMs);
    },
    stopClock: () => clearTimeout(timer),
    check: () => controller.signal.throwIfAborted(),
    [Symbol.dispose]() {
      clearTimeout(timer);
      givenUp?.removeEventListener("abort", onGivenUp);
    },
  };
}

function timedOut(maxMs: number): CallError {
  return refuseCall(
    "call_timeout",
    `The call took longer than ${maxMs} ms (CYRNEL_INVOKE_TIMEOUT_MS) and was cut off.`,
  );
}
