/**
 * Clock and random numbers of a script, which a replay repeats: each clock reading is recorded, and `Math.random` is
 * xoshiro128** (D. Blackman and S. Vigna) with a seed from the host. Not for secrets: `crypto` has its own seed,
 * which these numbers do not reveal.
 */
import { nextReading, recordReading } from "./journal.ts";
import {
  DateNow,
  dateToString,
  defineHidden,
  MathFloor,
  MathImul,
  ObjectDefineProperty,
  RealmDate,
  ReflectConstruct,
} from "./primordials.ts";

let latestMs = 0;
let engineNs: (() => bigint) | null = null;

/** Stores the engine's clock once `Temporal` was replaced. */
export function keepEngineClock(clock: () => bigint): void {
  engineNs = clock;
}

/** Returns the engine's clock, in nanoseconds since 1970, or null while `Temporal` still is it. */
export function engineClock(): (() => bigint) | null {
  return engineNs;
}

/** Returns the milliseconds since 1970 that the script sees, which never decrease. `read` reads the real clock. */
export function readClock(read: () => number): number {
  const ms = nextReading() ?? read();
  if (ms > latestMs) latestMs = ms;
  recordReading(latestMs);
  return latestMs;
}

/** Returns whole milliseconds since 1970. */
export function nowMs(): number {
  return MathFloor(readClock(DateNow));
}

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

const TWO_TO_26 = 2 ** 26;
const TWO_TO_53 = 2 ** 53;

let a = 1;
let b = 2;
let c = 3;
let d = 4;

/** Takes four integers from 0 to 2^32-1, not all zero. */
export function seedRandom(seed: readonly number[]): void {
  a = (seed[0] as number) | 0;
  b = (seed[1] as number) | 0;
  c = (seed[2] as number) | 0;
  d = (seed[3] as number) | 0;
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function next32(): number {
  const result = MathImul(rotate(MathImul(b, 5), 7), 9);
  const t = b << 9;
  c ^= a;
  d ^= b;
  b ^= c;
  a ^= d;
  c ^= t;
  d = rotate(d, 11);
  return result;
}

export function installRandom(): void {
  const { random } = { random: () => ((next32() >>> 5) * TWO_TO_26 + (next32() >>> 6)) / TWO_TO_53 };
  defineHidden(Math, "random", random);
}
