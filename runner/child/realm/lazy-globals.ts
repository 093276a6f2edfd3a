/**
 * Globals that are loaded on first use; none of their code runs at start. Each is a getter that replaces itself with
 * the value; so does assignment. Their modules receive what they need of the realm as arguments, because importing it
 * would make the whole realm lazy.
 */

import {
  loadAbort,
  loadBlobs,
  loadDomException,
  loadEncoding,
  loadEvents,
  loadStreams,
  loadUrl,
} from "./globals/loaders.ts";
import { loadFetch } from "./host/fetch.ts";
import { run } from "./limits.ts";
import { defineHidden, ObjectDefineProperty, ObjectKeys } from "./primordials.ts";
import { engineClock, readClock } from "./replayable.ts";

type Loader = () => object;

const loaders: Record<string, Loader> = {
  URL: () => loadUrl().URL,
  URLSearchParams: () => loadUrl().URLSearchParams,
  TextEncoder: () => loadEncoding().TextEncoder,
  TextDecoder: () => loadEncoding().TextDecoder,
  AbortController: () => loadAbort().AbortController,
  AbortSignal: () => loadAbort().AbortSignal,
  Event: () => loadEvents().Event,
  CustomEvent: () => loadEvents().CustomEvent,
  EventTarget: () => loadEvents().EventTarget,
  DOMException: () => loadDomException().DOMException,
  Blob: () => loadBlobs().Blob,
  File: () => loadBlobs().File,
  FormData: () => loadFetch().FormData,
  Headers: () => loadFetch().Headers,
  Request: () => loadFetch().Request,
  Response: () => loadFetch().Response,
  crypto: () =>
    (require("./web-crypto/crypto.ts") as typeof import("./web-crypto/crypto.ts")).createCrypto(run.seed),
  CryptoKey: () => (require("./web-crypto/keys.ts") as typeof import("./web-crypto/keys.ts")).CryptoKey,
  performance: () =>
    (require("./globals/clocks.ts") as typeof import("./globals/clocks.ts")).createPerformance(
      readClock,
      engineClock(),
    ),
};

const STREAMS = [
  "ReadableStream",
  "ReadableStreamDefaultReader",
  "ReadableStreamBYOBReader",
  "ReadableStreamBYOBRequest",
  "ReadableStreamDefaultController",
  "ReadableByteStreamController",
  "WritableStream",
  "WritableStreamDefaultWriter",
  "WritableStreamDefaultController",
  "TransformStream",
  "TransformStreamDefaultController",
  "ByteLengthQueuingStrategy",
  "CountQueuingStrategy",
  "TextEncoderStream",
  "TextDecoderStream",
];
for (let index = 0; index < STREAMS.length; index++) {
  const name = STREAMS[index] as string;
  loaders[name] = () => loadStreams().globals[name] as object;
}

export const lazyGlobals: object = {
  fetch(input: unknown, init?: unknown): Promise<unknown> {
    return loadFetch().fetch(input, init);
  },
  structuredClone(value: unknown, options?: unknown): unknown {
    return (require("./globals/clone.ts") as typeof import("./globals/clone.ts")).clone(value, options);
  },
  atob(data: unknown): string {
    return (require("./globals/base64.ts") as typeof import("./globals/base64.ts")).atob(data);
  },
  btoa(data: unknown): string {
    return (require("./globals/base64.ts") as typeof import("./globals/base64.ts")).btoa(data);
  },
};

const names = ObjectKeys(loaders);
for (let index = 0; index < names.length; index++) {
  const name = names[index] as string;
  ObjectDefineProperty(lazyGlobals, name, {
    __proto__: null,
    get() {
      const value = (loaders[name] as Loader)();
      // Restores the name that the bundler shortened.
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
