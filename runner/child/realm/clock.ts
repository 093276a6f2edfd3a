/**
 * The clock of a script. Each reading is noted, and a run that is repeated is given the readings of the first time: a
 * script that branches on the time takes the same way again.
 */
import { noteReading } from "./journal.ts";
import {
  DateNow,
  dateToString,
  defineHidden,
  MathFloor,
  ObjectDefineProperty,
  RealmDate,
  ReflectConstruct,
} from "./primordials.ts";
import { nextReading } from "./replay.ts";

let latestMs = 0;
let engineNs: (() => bigint) | null = null;

/** `Temporal` answers with this clock from now on; `clock` is the engine's own. */
export function keepEngineClock(clock: () => bigint): void {
  engineNs = clock;
}

/** The engine's own clock, in nanoseconds since 1970; null while `Temporal` is it. */
export function engineClock(): (() => bigint) | null {
  return engineNs;
}

/** Milliseconds since 1970 as the script is to see them; `read` is the clock itself. Never runs backwards. */
export function readClock(read: () => number): number {
  const ms = nextReading() ?? read();
  if (ms > latestMs) latestMs = ms;
  noteReading(latestMs);
  return latestMs;
}

/** Whole milliseconds since 1970. */
export function nowMs(): number {
  return MathFloor(readClock(DateNow));
}

/** `Date` with this clock; everything else of it is the engine's own. */
export function installClock(): void {
  const clocked = function Date(...args: unknown[]): unknown {
    if (new.target === undefined) return dateToString(new RealmDate(nowMs()));
    return ReflectConstruct(RealmDate, args.length === 0 ? [nowMs()] : args, new.target);
  };
  const { prototype } = RealmDate;
  define(clocked, "prototype", { value: prototype, writable: false });
  define(clocked, "name", { value: RealmDate.name });
  define(clocked, "length", { value: RealmDate.length });
  defineHidden(clocked, "now", { now: () => nowMs() }.now);
  defineHidden(clocked, "parse", RealmDate.parse);
  defineHidden(clocked, "UTC", RealmDate.UTC);
  defineHidden(prototype, "constructor", clocked);
  defineHidden(globalThis, "Date", clocked);
}

function define(target: object, key: string, descriptor: PropertyDescriptor): void {
  ObjectDefineProperty(target, key, { __proto__: null, ...descriptor } as PropertyDescriptor);
}
