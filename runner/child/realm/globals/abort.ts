/** `AbortController` and `AbortSignal` (DOM standard, "Aborting ongoing activities"), loaded on first use. */
import { DOMException } from "./dom-exception.ts";
import { Event, EventTarget } from "./events.ts";

type SetTimeout = (callback: () => void, ms: number) => unknown;

/** `setTimeout` must be the realm's, which no script can replace. */
export function createAbort(setTimeout: SetTimeout) {
  let mayConstruct = false;

  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason: unknown;
    #dependents: AbortSignal[] = [];
    readonly #followers = new Set<(reason: unknown) => void>();
    onabort: ((event: Event) => unknown) | null = null;

    constructor() {
      if (!mayConstruct) throw new TypeError("Illegal constructor: use an AbortController.");
      super();
    }

    static abort(reason?: unknown): AbortSignal {
      const signal = createSignal();
      abortSignal(signal, reason);
      return signal;
    }

    static timeout(ms: number): AbortSignal {
      const signal = createSignal();
      const abort = () =>
        abortSignal(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError"));
      setTimeout(abort, ms);
      return signal;
    }

    static any(signals: Iterable<AbortSignal>): AbortSignal {
      const signal = createSignal();
      const sources = [...signals];
      const aborted = sources.find((source) => source.aborted);
      if (aborted !== undefined) abortSignal(signal, aborted.reason);
      else for (const source of sources) source.#dependents.push(signal);
      return signal;
    }

    static abortNow(signal: AbortSignal, reason: unknown): void {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason =
        reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
      for (const follow of signal.#followers) follow(signal.#reason);
      signal.#followers.clear();
      const event = new Event("abort");
      if (typeof signal.onabort === "function")
        signal.addEventListener("abort", signal.onabort, { once: true });
      signal.dispatchEvent(event);
      for (const dependent of signal.#dependents) abortSignal(dependent, signal.#reason);
      signal.#dependents = [];
    }

    static follow(signal: AbortSignal, run: (reason: unknown) => void): () => void {
      if (signal.#aborted) run(signal.#reason);
      else signal.#followers.add(run);
      return () => signal.#followers.delete(run);
    }

    get aborted(): boolean {
      return this.#aborted;
    }

    get reason(): unknown {
      return this.#reason;
    }

    throwIfAborted(): void {
      if (this.#aborted) throw this.#reason;
    }

    get [Symbol.toStringTag](): string {
      return "AbortSignal";
    }
  }
  const { abortNow: abortSignal, follow } = AbortSignal;
  Reflect.deleteProperty(AbortSignal, "abortNow");
  Reflect.deleteProperty(AbortSignal, "follow");

  function createSignal(): AbortSignal {
    mayConstruct = true;
    try {
      return new AbortSignal();
    } finally {
      mayConstruct = false;
    }
  }

  class AbortController {
    readonly #signal = createSignal();

    get signal(): AbortSignal {
      return this.#signal;
    }

    abort(reason?: unknown): void {
      abortSignal(this.#signal, reason);
    }

    get [Symbol.toStringTag](): string {
      return "AbortController";
    }
  }

  return { AbortController, AbortSignal, follow };
}
