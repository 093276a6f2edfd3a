/**
 * Timers of a script. The embedder knows only ids and milliseconds; callbacks and their arguments stay here. At most
 * MAX_ARMED_TIMERS are armed at a time. A callback that throws fails the run, like an uncaught error in Node.
 */

import { isReplaying, recordTimer } from "./journal.ts";
import { dropResult, fail } from "./outcome.ts";
import {
  MathTrunc,
  mapDelete,
  mapGet,
  mapSet,
  onSettled,
  RealmError,
  RealmMap,
  RealmPromise,
  RealmRangeError,
  RealmTypeError,
  ReflectApply,
  ReflectDeleteProperty,
  StringOf,
} from "./primordials.ts";
import { sendClear, sendTimer } from "./sending.ts";
import { locate, type Position } from "./stacks.ts";
import { warn } from "./warnings.ts";

const MAX_ARMED_TIMERS = 10_000;
const MAX_TIMER_MS = 2_147_483_647;

interface Armed {
  timer: Timeout;
  callback: (...args: unknown[]) => unknown;
  args: unknown[];
  ms: number;
  repeats: boolean;
  /** Set by code that continued after the script had returned, so the run waits for it. */
  isAwaited: boolean;
  isUnref: boolean;
  /** Created with the timer to find its line. Null for timers of the next turn. */
  at: Error | null;
}

const armed = new RealmMap<number, Armed>();
let armedCount = 0;
let awaitedCount = 0;
let lastId = 0;
/** True while code runs that continues after a call that was open when the script returned. */
let isContinuation = false;

/** Call before anything reaches the script. */
export function continueFrom(isAwaited: boolean): void {
  isContinuation = isAwaited;
  dropResult();
}

/** Returned by the set functions: converts to a number and has the methods of Node's timers. */
class Timeout {
  static readonly name = "Timeout";
  readonly #id: number;

  constructor(id: number) {
    this.#id = id;
  }

  static idOf(value: unknown): number | undefined {
    if (typeof value === "number") return value;
    if (typeof value === "object" && value !== null && #id in value) return value.#id;
    return undefined;
  }

  ref(): this {
    const entry = mapGet(armed, this.#id) as Armed | undefined;
    if (entry !== undefined) entry.isUnref = false;
    return this;
  }

  unref(): this {
    const entry = mapGet(armed, this.#id) as Armed | undefined;
    if (entry === undefined) return this;
    entry.isUnref = true;
    if (entry.isAwaited) awaitedCount--;
    entry.isAwaited = false;
    return this;
  }

  hasRef(): boolean {
    return (mapGet(armed, this.#id) as Armed | undefined)?.isUnref !== true;
  }

  refresh(): this {
    const entry = mapGet(armed, this.#id) as Armed | undefined;
    if (entry !== undefined) {
      stopTimer(this.#id);
      startTimer(this.#id, entry.ms);
    }
    return this;
  }

  close(): this {
    disarm(this);
    return this;
  }

  [Symbol.toPrimitive](): number {
    return this.#id;
  }

  [Symbol.dispose](): void {
    disarm(this);
  }
}
const { idOf } = Timeout;
ReflectDeleteProperty(Timeout, "idOf");

export function countArmedTimers(): number {
  return armedCount;
}

/** Number of timers that the run waits for. */
export function countAwaitedTimers(): number {
  return awaitedCount;
}

export function locateAwaitedTimer(): Position | undefined {
  for (let id = 1; awaitedCount > 0 && id <= lastId; id++) {
    const entry = mapGet(armed, id) as Armed | undefined;
    if (entry?.isAwaited && entry.at !== null) return locate(entry.at);
  }
  return undefined;
}

/** Warns of timers that are dropped when the run ends, once per line. */
export function warnOfDropped(): void {
  if (armedCount === 0) return;
  let left = armedCount;
  const lines = new RealmMap<string, true>();
  for (let id = 1; id <= lastId && left > 0; id++) {
    const entry = mapGet(armed, id) as Armed | undefined;
    if (entry === undefined) continue;
    left--;
    if (entry.isUnref) continue;
    const position = entry.at === null ? undefined : locate(entry.at);
    const line = position === undefined ? "" : `${StringOf(position.source)}:${StringOf(position.line)}`;
    if (mapGet(lines, line) !== undefined) continue;
    mapSet(lines, line, true);
    warn({
      code: "timers_dropped",
      message: `A timer of ${StringOf(entry.ms)} ms had not fired when the run ended, and its callback was dropped: a run does not wait for timers. Await it if its work matters, else clear it.`,
      ...(position && { position }),
    });
  }
}

export function isTimerArmed(id: number): boolean {
  return mapGet(armed, id) !== undefined;
}

/** In a replay, the journal says when timers fire, and no real timers are armed. */
function startTimer(id: number, ms: number): void {
  if (!isReplaying()) sendTimer(id, ms);
}

function stopTimer(id: number): void {
  if (!isReplaying()) sendClear(id);
}

/** Arms all set timers with their full delay. From now on the embedder says when they are due. */
export function startTimers(): void {
  for (let id = 1; id <= lastId; id++) {
    const entry = mapGet(armed, id) as Armed | undefined;
    if (entry !== undefined) sendTimer(id, entry.ms);
  }
}

/** Fires a due timer. Ignores unknown ids. */
export function fireTimer(id: number): void {
  const entry = mapGet(armed, id) as Armed | undefined;
  if (entry === undefined) return;
  recordTimer(id);
  continueFrom(entry.isAwaited);
  if (entry.repeats) startTimer(id, entry.ms);
  else drop(id, entry);
  runCallback(entry.callback, entry.args, entry.timer);
}

function arm(name: string, callback: unknown, ms: number, args: unknown[], repeats: boolean): Timeout {
  if (typeof callback !== "function") {
    throw new RealmTypeError(`${name} expects a function as its first argument; found ${typeof callback}.`);
  }
  if (armedCount >= MAX_ARMED_TIMERS) {
    throw new RealmRangeError(
      `${StringOf(MAX_ARMED_TIMERS)} timers are waiting, the most a run may have; clear some, or wait for them.`,
    );
  }
  const id = lastId + 1;
  const timer = new Timeout(id);
  startTimer(id, ms);
  lastId = id;
  mapSet(armed, id, {
    timer,
    callback: callback as Armed["callback"],
    args,
    ms,
    repeats,
    isAwaited: isContinuation,
    isUnref: false,
    at: ms === 0 ? null : new RealmError(),
  });
  armedCount++;
  if (isContinuation) awaitedCount++;
  return timer;
}

function disarm(value: unknown): void {
  const id = idOf(value);
  const entry = id === undefined ? undefined : (mapGet(armed, id) as Armed | undefined);
  if (id === undefined || entry === undefined) return;
  stopTimer(id);
  drop(id, entry);
}

function drop(id: number, { isAwaited }: Armed): void {
  mapDelete(armed, id);
  armedCount--;
  if (isAwaited) awaitedCount--;
}

/** Like Node, replaces delays outside 1 to 2^31-1 with 1. */
function clampMs(ms: unknown): number {
  const value = MathTrunc(+(ms as number));
  return value >= 1 && value <= MAX_TIMER_MS ? value : 1;
}

function runCallback(callback: (...args: unknown[]) => unknown, args: unknown[], self: unknown): void {
  try {
    ReflectApply(callback, self, args);
  } catch (error) {
    fail(error);
  }
}

const settled = new RealmPromise<void>((resolve) => resolve());

export const timerGlobals = {
  setTimeout(callback: unknown, ms?: unknown, ...args: unknown[]): Timeout {
    return arm("setTimeout", callback, clampMs(ms), args, false);
  },
  setInterval(callback: unknown, ms?: unknown, ...args: unknown[]): Timeout {
    return arm("setInterval", callback, clampMs(ms), args, true);
  },
  setImmediate(callback: unknown, ...args: unknown[]): Timeout {
    return arm("setImmediate", callback, 0, args, false);
  },
  clearTimeout(timer?: unknown): void {
    disarm(timer);
  },
  clearInterval(timer?: unknown): void {
    disarm(timer);
  },
  clearImmediate(timer?: unknown): void {
    disarm(timer);
  },
  queueMicrotask(callback: unknown): void {
    if (typeof callback !== "function") {
      throw new RealmTypeError(`queueMicrotask expects a function; found ${typeof callback}.`);
    }
    const react = () => runCallback(callback as Armed["callback"], [], undefined);
    onSettled(settled, react, react);
  },
};
