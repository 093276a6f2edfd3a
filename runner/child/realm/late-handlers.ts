/**
 * For embedders that tell of an unhandled rejection without its promise: finds out when code comes to the promise after all. Whatever handles a
 * promise reads its `constructor` first, which becomes a getter with the first such rejection.
 */
import { defineHidden, ObjectDefineProperty, promiseThen, RealmPromise } from "./primordials.ts";

const settled = new RealmPromise<void>((resolve) => resolve());
let isWatching = false;
let isOwnLook = false;

/** `handled` gets the reason of each promise that was rejected before code came to it. */
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

/** The reaction to a promise that is settled comes before one that is asked for later. */
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
    // Something that only inherits from a promise.
  } finally {
    isOwnLook = false;
  }
}

function ignore(): void {}
