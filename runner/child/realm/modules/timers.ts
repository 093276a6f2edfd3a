/** `node:timers` and `node:timers/promises`, on top of the script's timers. */
type Signalled = { signal?: AbortSignal };

const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = globalThis;

function wait<T>(start: (done: () => void) => () => void, value: T, { signal }: Signalled = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      stop();
      const error = new Error("The operation was aborted", { cause: signal?.reason });
      reject(Object.assign(error, { name: "AbortError", code: "ABORT_ERR" }));
    };
    const stop = start(() => {
      signal?.removeEventListener("abort", abort);
      resolve(value);
    });
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}

function sleep<T>(ms?: number, value?: T, options?: Signalled): Promise<T | undefined> {
  return wait(
    (done) => {
      const timer = setTimeout(done, ms);
      return () => clearTimeout(timer);
    },
    value,
    options,
  );
}

function soon<T>(value?: T, options?: Signalled): Promise<T | undefined> {
  return wait(
    (done) => {
      const timer = setImmediate(done);
      return () => clearImmediate(timer);
    },
    value,
    options,
  );
}

async function* repeat<T>(ms?: number, value?: T, options?: Signalled): AsyncGenerator<T | undefined> {
  for (;;) yield await sleep(ms, value, options);
}

export const promises = {
  setTimeout: sleep,
  setImmediate: soon,
  setInterval: repeat,
  scheduler: {
    wait: (ms: number, options?: Signalled) => sleep(ms, undefined, options),
    yield: () => soon(),
  },
};
export const timers = {
  setTimeout,
  setInterval,
  setImmediate,
  clearTimeout,
  clearInterval,
  clearImmediate,
  promises,
};
