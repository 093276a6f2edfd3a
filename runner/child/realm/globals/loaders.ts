import type { Blobs } from "../fetch/blob.ts";
import { fail } from "../outcome.ts";
import { defineHidden } from "../primordials.ts";
import { timerGlobals } from "../timers.ts";

type Encoding = typeof import("@exodus/bytes/encoding-lite.js");
type Streams = typeof import("../fetch/streams.ts").streams;

let events: typeof import("./events.ts") | undefined;
let abort: ReturnType<typeof import("./abort.ts")["createAbort"]> | undefined;
let encoding: Encoding | undefined;
let url: typeof import("./url.ts") | undefined;
let streams: Streams | null = null;
let blobs: Blobs | null = null;

export function loadEvents(): typeof import("./events.ts") {
  events ??= require("./events.ts") as typeof import("./events.ts");
  events.reportWith(fail);
  return events;
}

export function loadAbort() {
  loadEvents();
  abort ??= (require("./abort.ts") as typeof import("./abort.ts")).createAbort((callback, ms) =>
    timerGlobals.setTimeout(callback, ms).unref(),
  );
  return abort;
}

/** Until the library is loaded, no value can be a signal. */
export function isSignal(value: unknown): value is AbortSignal {
  return abort !== undefined && value instanceof abort.AbortSignal;
}

/** Calls `run` when the signal aborts, or now if it already has. Returns a function that stops listening. */
export function followSignal(signal: AbortSignal, run: (reason: unknown) => void): () => void {
  return (abort as NonNullable<typeof abort>).follow(signal as never, run);
}

export function loadUrl(): typeof import("./url.ts") {
  loadEncoding();
  url ??= require("./url.ts") as typeof import("./url.ts");
  return url;
}

export function isSearchParams(value: unknown): boolean {
  return url !== undefined && value instanceof url.URLSearchParams;
}

/** The library prefers the engine's encoders. While it loads, it must not find ours. */
export function loadEncoding(): Encoding {
  if (encoding !== undefined) return encoding;
  Reflect.deleteProperty(globalThis, "TextEncoder");
  Reflect.deleteProperty(globalThis, "TextDecoder");
  encoding = require("@exodus/bytes/encoding-lite.js") as Encoding;
  defineHidden(globalThis, "TextEncoder", encoding.TextEncoder);
  defineHidden(globalThis, "TextDecoder", encoding.TextDecoder);
  return encoding;
}

export function loadStreams(): Streams {
  streams ??= (require("../fetch/streams.ts") as typeof import("../fetch/streams.ts")).streams;
  return streams;
}

/** Returns null until a script creates a stream. */
export function streamsIfLoaded(): Streams | null {
  return streams;
}

export function loadBlobs(): Blobs {
  const { createBlobs } = require("../fetch/blob.ts") as typeof import("../fetch/blob.ts");
  blobs ??= createBlobs({ loadEncoding, loadStreams });
  return blobs;
}

/** Returns null until a script creates a Blob. */
export function blobsIfLoaded(): Blobs | null {
  return blobs;
}

export function loadDomException() {
  return require("./dom-exception.ts") as typeof import("./dom-exception.ts");
}
