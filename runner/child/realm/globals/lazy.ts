/**
 * Globals whose code is loaded with their first use: nothing of it is evaluated at start. Each is a getter that
 * replaces itself by the value; assigning replaces it too. The modules behind them get what they need of the realm
 * as arguments: importing it would make all of it load late.
 */

import { run } from "../limits.ts";
import { fail } from "../outcome.ts";
import { defineHidden, ObjectDefineProperty, ObjectKeys, RealmError, RealmPromise } from "../primordials.ts";
import { engineClock, readClock } from "../repeatable.ts";
import { timerGlobals } from "../timers.ts";

type Loader = () => object;

let events: typeof import("./events.ts") | undefined;
let abort: ReturnType<typeof import("./abort.ts")["createAbort"]> | undefined;

function loadEvents(): typeof import("./events.ts") {
  events ??= require("./events.ts") as typeof import("./events.ts");
  events.reportWith(fail);
  return events;
}

function loadAbort() {
  loadEvents();
  abort ??= (require("./abort.ts") as typeof import("./abort.ts")).createAbort(timerGlobals.setTimeout);
  return abort;
}

function loadUrl() {
  loadEncoding();
  return require("./url.ts") as typeof import("./url.ts");
}

/** The library looks for encoders of the engine first; ours must not answer while it is being loaded. */
function loadEncoding() {
  Reflect.deleteProperty(globalThis, "TextEncoder");
  Reflect.deleteProperty(globalThis, "TextDecoder");
  const loaded = require("@exodus/bytes/encoding-lite.js") as typeof import("@exodus/bytes/encoding-lite.js");
  defineHidden(globalThis, "TextEncoder", loaded.TextEncoder);
  defineHidden(globalThis, "TextDecoder", loaded.TextDecoder);
  return loaded;
}

function loadDomException() {
  return require("./dom-exception.ts") as typeof import("./dom-exception.ts");
}

const loaders: Record<string, Loader> = {
  URL: () => loadUrl().URL,
  URLSearchParams: () => loadUrl().URLSearchParams,
  TextEncoder: () => loadEncoding().TextEncoder,
  TextDecoder: () => loadEncoding().TextDecoder,
  AbortController: () => loadAbort().AbortController,
  AbortSignal: () => loadAbort().AbortSignal,
  Event: () => loadEvents().Event,
  EventTarget: () => loadEvents().EventTarget,
  DOMException: () => loadDomException().DOMException,
  crypto: () => (require("./crypto.ts") as typeof import("./crypto.ts")).createCrypto(run.seed),
  performance: () =>
    (require("./clocks.ts") as typeof import("./clocks.ts")).createPerformance(readClock, engineClock()),
};

const NO_NETWORK =
  "fetch is not available: a script has no network. Call a service instead: tools.<service>.<tool>(parameters); tools.search({query}) lists what there is.";

export const lazyGlobals: object = {
  fetch(): Promise<never> {
    return new RealmPromise((_resolve, reject) => reject(new RealmError(NO_NETWORK)));
  },
  structuredClone(value: unknown, options?: unknown): unknown {
    return (require("./clone.ts") as typeof import("./clone.ts")).clone(value, options);
  },
  atob(data: unknown): string {
    return (require("./base64.ts") as typeof import("./base64.ts")).atob(data);
  },
  btoa(data: unknown): string {
    return (require("./base64.ts") as typeof import("./base64.ts")).btoa(data);
  },
};

const names = ObjectKeys(loaders);
for (let index = 0; index < names.length; index++) {
  const name = names[index] as string;
  ObjectDefineProperty(lazyGlobals, name, {
    __proto__: null,
    get() {
      const value = (loaders[name] as Loader)();
      // The bundle's own names are shortened.
      if (typeof value === "function") {
        ObjectDefineProperty(value, "name", { __proto__: null, value: name } as PropertyDescriptor);
      }
      defineHidden(globalThis, name, value);
      return value;
    },
    set(value: unknown) {
      defineHidden(globalThis, name, value);
    },
    enumerable: true,
    configurable: true,
  } as PropertyDescriptor);
}
