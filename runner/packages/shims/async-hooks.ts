/** `async_hooks` for packages: a context lasts for a call, but not beyond its first `await`. */
export class AsyncLocalStorage<T> {
  #store: T | undefined;
  getStore(): T | undefined {
    return this.#store;
  }
  run<R, A extends unknown[]>(store: T, callback: (...args: A) => R, ...args: A): R {
    const before = this.#store;
    this.#store = store;
    try {
      return callback(...args);
    } finally {
      this.#store = before;
    }
  }
  exit<R, A extends unknown[]>(callback: (...args: A) => R, ...args: A): R {
    return this.run(undefined as T, callback, ...args);
  }
  enterWith(store: T): void {
    this.#store = store;
  }
  disable(): void {
    this.#store = undefined;
  }
  static bind<F>(callback: F): F {
    return callback;
  }
  static snapshot() {
    return <R, A extends unknown[]>(callback: (...args: A) => R, ...args: A): R => callback(...args);
  }
}
export class AsyncResource {
  static bind<F>(callback: F): F {
    return callback;
  }
  runInAsyncScope<R, A extends unknown[]>(callback: (...args: A) => R, self: unknown, ...args: A): R {
    return callback.apply(self, args);
  }
  emitDestroy(): this {
    return this;
  }
  asyncId(): number {
    return 0;
  }
}
export const executionAsyncId = () => 0;
export const triggerAsyncId = () => 0;
export const createHook = () => ({ enable() {}, disable() {} });
