/** Random numbers from a seed: the same seed, the same conversation, on every machine. */

export interface Prng {
  /** An integer from 0 to `below` - 1. */
  int(below: number): number;
  /** An integer from `from` to `to`, both included. */
  between(from: number, to: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** Picks a key of `weights` with a probability in proportion to its value. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K;
}

/** sfc32 (PractRand), its state filled from one 32-bit seed. */
export function createPrng(seed: number): Prng {
  let [a, b, c, count] = [seed | 0, seed ^ 0x9e3779b9, 0x85ebca6b, 1];
  function next(): number {
    const result = (a + b + count) | 0;
    count = (count + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + result;
    return result >>> 0;
  }
  for (let round = 0; round < 12; round++) next();
  const int = (below: number) => next() % below;

  return {
    int,
    between: (from, to) => from + int(to - from + 1),
    chance: (probability) => next() < probability * 2 ** 32,
    pick: (list) => list[int(list.length)] as (typeof list)[number],
    weighted(weights) {
      const entries = Object.entries(weights) as [keyof typeof weights, number][];
      const total = entries.reduce((sum, [, weight]) => sum + weight, 0);
      let at = (next() / 2 ** 32) * total;
      for (const [key, weight] of entries) {
        at -= weight;
        if (at < 0) return key;
      }
      return (entries.at(-1) as [keyof typeof weights, number])[0];
    },
  };
}
