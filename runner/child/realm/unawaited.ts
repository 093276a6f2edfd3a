/**
 * Finds calls whose promise was never used, and unhandled rejections. Both are judged when the run has drained,
 * because code may still handle them until then.
 */
import { watchForHandlers } from "./late-handlers.ts";
import {
  defineHidden,
  ErrorIsError,
  mapDelete,
  mapGet,
  mapSet,
  ObjectDefineProperty,
  ObjectIs,
  own,
  promiseThen,
  RealmMap,
  RealmPromise,
  RealmWeakMap,
  ReflectDeleteProperty,
  StringOf,
  symbolToString,
  weakMapGet,
  weakMapSet,
} from "./primordials.ts";
import { locate, type Position, readPosition } from "./stacks.ts";
import { warn } from "./warnings.ts";

/** Maximum number of calls whose line is reported: formatting the stack takes longer than the rest of a call here. */
const MAX_LOCATED = 20;

export interface Started {
  /** Name such as `tools.orders.list`, `fetch` or `cyrnel.ask`. */
  name: string;
  /** Created with the call; its stack contains the line. */
  at: Error;
  isObserved: boolean;
  failure: { reason: unknown } | null;
  next: Started | null;
}

export function startCall(name: string, at: Error): Started {
  return { name, at, isObserved: false, failure: null, next: null };
}

let isOwnLook = false;

/**
 * The promise of a call. `await`, `then`, `catch`, `finally`, `Promise.all` and the like all read a promise's
 * `constructor` first, so the getter below detects that code uses it. Otherwise it behaves like any promise.
 */
class CallPromise extends RealmPromise<unknown> {
  readonly #started: Started;

  constructor(
    executor: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void,
    started: Started,
  ) {
    super(executor);
    this.#started = started;
  }

  static observe(value: unknown): void {
    if (typeof value === "object" && value !== null && #started in value) value.#started.isObserved = true;
  }
}
const { observe } = CallPromise;
ReflectDeleteProperty(CallPromise, "observe");
ObjectDefineProperty(CallPromise.prototype, "constructor", {
  __proto__: null,
  get(this: unknown) {
    if (!isOwnLook) observe(this);
    return RealmPromise;
  },
  set(this: object, value: unknown) {
    defineHidden(this, "constructor", value);
  },
} as PropertyDescriptor);

export function makeCallPromise(
  executor: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void,
  started: Started,
): Promise<unknown> {
  return new CallPromise(executor, started);
}

/** Calls that ended before any code used their promise, in that order. */
let firstUnobserved: Started | null = null;
let lastUnobserved: Started | null = null;
const failed = new RealmWeakMap<object, Started>();
let lastFailed: { reason: object; call: Started } | null = null;

function keepUnobserved(started: Started): void {
  if (lastUnobserved === null) firstUnobserved = started;
  else lastUnobserved.next = started;
  lastUnobserved = started;
}

export function recordResult(started: Started): void {
  if (!started.isObserved) keepUnobserved(started);
}

/**
 * Call before a call's promise rejects. The embedder does not learn of a rejection that is judged here. The rejection
 * of a call that the script aborted may stay unhandled.
 */
export function recordFailure(
  started: Started,
  promise: Promise<unknown>,
  reason: unknown,
  wasAborted: boolean,
): void {
  if (typeof reason === "object" && reason !== null && !wasAborted) {
    weakMapSet(failed, reason, started);
    lastFailed = { reason, call: started };
  }
  if (started.isObserved) return;
  if (!wasAborted) {
    started.failure = { reason };
    keepUnobserved(started);
  }
  isOwnLook = true;
  try {
    void promiseThen(promise, undefined, ignore);
  } finally {
    isOwnLook = false;
  }
}

function ignore(): void {}

interface Rejection {
  reason: unknown;
  isHandled: boolean;
  next: Rejection | null;
}

/** Other promises that were rejected and not handled by the end of their turn. */
const rejections = new RealmMap<object, Rejection>();
let firstRejection: Rejection | null = null;
let lastRejection: Rejection | null = null;

/** `promise` is absent if the embedder does not know it; `reason` is then a copy. */
export function recordRejection(reason: unknown, promise?: unknown): void {
  const rejection: Rejection = { reason, isHandled: false, next: null };
  if (promise !== undefined) mapSet(rejections, promise as object, rejection);
  else {
    watchForHandlers(recordHandledReason);
    if (lastFailed !== null && ErrorIsError(reason) && isCopyOf(reason, lastFailed.reason)) {
      weakMapSet(failed, reason as object, lastFailed.call);
    }
  }
  if (lastRejection === null) firstRejection = rejection;
  else lastRejection.next = rejection;
  lastRejection = rejection;
}

export function recordHandled(promise: unknown): void {
  const rejection = mapGet(rejections, promise as object) as Rejection | undefined;
  if (rejection === undefined) return;
  mapDelete(rejections, promise as object);
  dropHandled(rejection);
}

/** The only rejection reported for its step, which was handled after all. */
let handledLate: { reason: unknown } | null = null;

/** Equal reasons cannot be told apart, so each must be handled. */
function recordHandledReason(reason: unknown): void {
  for (let rejection = firstRejection; rejection !== null; rejection = rejection.next) {
    if (rejection.isHandled || !isCopyOf(rejection.reason, reason)) continue;
    handledLate ??= rejection;
    dropHandled(rejection);
    return;
  }
}

/** Anything but errors and primitives is copied as a string. */
function isCopyOf(copy: unknown, reason: unknown): boolean {
  if (typeof reason !== "object" || reason === null) {
    return typeof reason === "symbol" ? copy === symbolToString(reason) : ObjectIs(copy, reason);
  }
  if (!ErrorIsError(reason)) return typeof copy === "string";
  if (!ErrorIsError(copy)) return false;
  try {
    return copy.message === reason.message && copy.stack === reason.stack;
  } catch {
    return false;
  }
}

function dropHandled(rejection: Rejection): void {
  rejection.isHandled = true;
  while (firstRejection?.isHandled) firstRejection = firstRejection.next;
  if (firstRejection === null) lastRejection = null;
}

/** Returns the first rejection that is still unhandled. `call` is set if a call failed with it. */
export function findUnhandled(): { reason: unknown; call: Started | undefined } | null {
  for (let call = firstUnobserved; call !== null; call = call.next) {
    if (!call.isObserved && call.failure !== null) return { reason: call.failure.reason, call };
  }
  for (let rejection = firstRejection; rejection !== null; rejection = rejection.next) {
    const { reason, isHandled } = rejection;
    if (isHandled) continue;
    const isObject = typeof reason === "object" && reason !== null;
    return { reason, call: isObject ? (weakMapGet(failed, reason) as Started | undefined) : undefined };
  }
  return null;
}

interface Place {
  name: string;
  position: Position | undefined;
  count: number;
  next: Place | null;
}

/** Warns of calls whose promise was never used, once per place. */
export function warnOfUnobserved(): void {
  let first: Place | null = null;
  let last: Place | null = null;
  const places = new RealmMap<string, Place>();
  let located = 0;
  for (let call = firstUnobserved; call !== null; call = call.next) {
    const { name, at, isObserved } = call;
    if (isObserved) continue;
    // Further calls are counted at the place of the first one with this name, most likely in the same loop.
    const position: Position | undefined = located < MAX_LOCATED ? locate(at) : undefined;
    const key =
      position === undefined ? name : `${name} ${StringOf(position.source)}:${StringOf(position.line)}`;
    located++;
    const known = mapGet(places, key) as Place | undefined;
    if (known !== undefined) {
      known.count++;
      continue;
    }
    const place: Place = { name, position, count: 1, next: null };
    mapSet(places, key, place);
    if (mapGet(places, name) === undefined) mapSet(places, name, place);
    if (last === null) first = place;
    else last.next = place;
    last = place;
  }
  for (let place = first; place !== null; place = place.next) {
    const { name, position, count } = place;
    const times = count === 1 ? "once" : `${StringOf(count)} times`;
    warn({
      code: "call_not_awaited",
      message: `${name} was called ${times} without awaiting it; the run waited for it at its end. Write \`await\`, or \`await Promise.all(…)\` for several calls.`,
      ...(position && { position }),
    });
  }
}

/**
 * Embedders that do not know the promise report only the first rejection of a step, so others may have gone
 * unnoticed.
 */
export function warnOfUnseen(): void {
  if (handledLate === null) return;
  const { reason } = handledLate;
  const position = ErrorIsError(reason) ? readPosition(StringOf(own(reason, "stack"))) : undefined;
  warn({
    code: "rejections_unseen",
    message:
      "A promise was rejected here and handled later. typescript-ivm reports one such rejection for each step of a script, so others of that step, if there were any, went unnoticed. Handle promises before the next await, or run the script in typescript-process.",
    ...(position && { position }),
  });
}
