/**
 * `Math.random` from numbers of the host, so that a run can be repeated: xoshiro128**, D. Blackman and S. Vigna. Not for
 * secrets, as ever; `crypto` has a seed of its own, which these numbers tell nothing about.
 */
import { defineHidden, MathImul } from "./primordials.ts";

const TWO_TO_26 = 2 ** 26;
const TWO_TO_53 = 2 ** 53;

let a = 1;
let b = 2;
let c = 3;
let d = 4;

/** Four integers from 0 to 2^32-1, not all zero. */
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
