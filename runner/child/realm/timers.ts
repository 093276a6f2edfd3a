/**
 * Timers of a script. The embedder only knows ids and milliseconds: callbacks and their arguments stay here. At most
 * MAX_ARMED_TIMERS are armed at a time. A callback that throws fails the run, as an uncaught error does in Node.
 */

import { isReplaying, noteTimer } from "./journal.ts";
import { fail } from "./outcome.ts";
import {
  MathTrunc,
  mapDelete,
  mapGet,
  mapSet,
  onSettled,
  RealmMap,
  RealmPromise,
  RealmRangeError,
  RealmTypeError,
  ReflectApply,
  ReflectDeleteProperty,
  StringOf,
} from "./primordials.ts";
import { sendClear, sendTimer } from "./sending.ts";

const MAX_ARMED_TIMERS = 10_000;
const MAX_TIMER_MS = 2_147_483_647;

interface Armed {
  timer: Timeout;
  callback: (...args: unknown[]) => unknown;
  args: unknown[];
  ms: number;
  repeats: boolean;
}

const armed = new RealmMap<number, Armed>();
let armedCount = 0;
let lastId = 0;

/** What the set functions return: a number where one is expected, with the methods Node's timers have. */
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
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
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

export function isTimerArmed(id: number): boolean {
  return mapGet(armed, id) !== undefined;
}

/** While a run is repeated its journal says when timers fire, and no real timers are set. */
function startTimer(id: number, ms: number): void {
  if (!isReplaying()) sendTimer(id, ms);
}

function stopTimer(id: number): void {
  if (!isReplaying()) sendClear(id);
}

/** From here on the embedder says when timers are due: all that are set are given to it, with their whole time. */
export function startTimers(): void {
  for (let id = 1; id <= lastId; id++) {
    const entry = mapGet(armed, id) as Armed | undefined;
    if (entry !== undefined) sendTimer(id, entry.ms);
  }
}

/** A timer is due; an unknown id is ignored. */
export function fireTimer(id: number): void {
  const entry = mapGet(armed, id) as Armed | undefined;
  if (entry === undefined) return;
  noteTimer(id);
  if (entry.repeats) startTimer(id, entry.ms);
  else {
    mapDelete(armed, id);
    armedCount--;
  }
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
  mapSet(armed, id, { timer, callback: callback as Armed["callback"], args, ms, repeats });
  armedCount++;
  return timer;
}

function disarm(value: unknown): void {
  const id = idOf(value);
  if (id === undefined || mapGet(armed, id) === undefined) return;
  stopTimer(id);
  mapDelete(armed, id);
  armedCount--;
}

/** As Node: what is not between 1 and 2^31-1 is 1. */
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
