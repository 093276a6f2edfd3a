/**
 * Detects late handlers for embedders that report an unhandled rejection without its promise. Any code that handles a
 * promise first reads its `constructor`, which becomes a getter at the first such rejection.
 */
import { defineHidden, ObjectDefineProperty, promiseThen, RealmPromise } from "./primordials.ts";

const settled = new RealmPromise<void>((resolve) => resolve());
let isWatching = false;
let isOwnLook = false;

/** Calls `handled` with the reason of each rejected promise that code handles later. */
export function watchForHandlers(handled: (reason: unknown) => void): void {
  if (isWatching) return;
  isWatching = true;
  ObjectDefineProperty(RealmPromise.prototype, "constructor", {
    __proto__: null,
    get(this: unknown) {
      if (!isOwnLook && this !== RealmPromise.prototype) look(this as Promise<unknown>, handled);
      return RealmPromise;
    },
    set(this: object, value: unknown) {
      defineHidden(this, "constructor", value);
    },
    configurable: true,
  } as PropertyDescriptor);
}

/** Reactions to a settled promise run before one that is added later. */
function look(promise: Promise<unknown>, handled: (reason: unknown) => void): void {
  let wasSettled = true;
  isOwnLook = true;
  try {
    void promiseThen(promise, ignore, (reason) => {
      if (wasSettled) handled(reason);
    });
    void promiseThen(settled, () => {
      wasSettled = false;
    });
  } catch {
    // The object only inherits from a promise.
  } finally {
    isOwnLook = false;
  }
}

function ignore(): void {}
