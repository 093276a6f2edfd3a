/** `node:events`: the library's EventEmitter, with the iterator `on` and other newer functions of Node. */
type EventsModule = typeof import("node:events");
type Emitter = InstanceType<EventsModule["EventEmitter"]>;
type Listener = (...args: unknown[]) => void;
type Signalled = { signal?: AbortSignal };

const library = require("events") as EventsModule;

function abortError(signal: AbortSignal): Error {
  return Object.assign(new Error("The operation was aborted", { cause: signal.reason }), {
    name: "AbortError",
    code: "ABORT_ERR",
  });
}

const { once } = library;

function onceOrAborted(emitter: Emitter, name: string, { signal }: Signalled = {}): Promise<unknown[]> {
  if (signal === undefined) return once(emitter, name);
  if (signal.aborted) return Promise.reject(abortError(signal));
  return new Promise((resolve, reject) => {
    const abort = () => reject(abortError(signal));
    signal.addEventListener("abort", abort, { once: true });
    once(emitter, name)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Events emitted between reads are buffered, as in Node. */
async function* on(emitter: Emitter, name: string, { signal }: Signalled = {}): AsyncGenerator<unknown[]> {
  const waiting: unknown[][] = [];
  let failure: unknown;
  let hasFailed = false;
  let wake = () => {};
  const fail = (error: unknown) => {
    failure = error;
    hasFailed = true;
    wake();
  };
  const take: Listener = (...args) => {
    waiting.push(args);
    wake();
  };
  const abort = () => fail(abortError(signal as AbortSignal));
  emitter.on(name, take);
  if (name !== "error") emitter.on("error", fail);
  signal?.addEventListener("abort", abort);
  if (signal?.aborted) abort();
  try {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else if (hasFailed) throw failure;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    emitter.off(name, take);
    emitter.off("error", fail);
    signal?.removeEventListener("abort", abort);
  }
}

function addAbortListener(signal: AbortSignal, listener: () => void): Disposable {
  if (signal.aborted) queueMicrotask(listener);
  else signal.addEventListener("abort", listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", listener) };
}

export const events = Object.assign(library, {
  on,
  once: onceOrAborted,
  addAbortListener,
  getEventListeners: (emitter: Emitter, name: string) => emitter.listeners(name),
  getMaxListeners: (emitter: Emitter) => emitter.getMaxListeners(),
  setMaxListeners(count: number, ...emitters: Emitter[]): void {
    for (const emitter of emitters) emitter.setMaxListeners(count);
  },
  errorMonitor: Symbol("events.errorMonitor"),
  captureRejectionSymbol: Symbol.for("nodejs.rejection"),
});
