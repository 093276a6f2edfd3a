/** `performance` with the clock only. `Temporal` has the finest clock of the language; it never runs backwards here. */

declare const Temporal: { Now: { instant(): { epochNanoseconds: bigint } } };

const NS_PER_MS = 1e6;

export function createPerformance(): object {
  const origin = Temporal.Now.instant().epochNanoseconds;
  let last = 0;
  const now = (): number => {
    last = Math.max(last, Number(Temporal.Now.instant().epochNanoseconds - origin) / NS_PER_MS);
    return last;
  };
  const timeOrigin = Number(origin / 1000n) / 1000;
  return { now, timeOrigin, toJSON: () => ({ timeOrigin }) };
}
