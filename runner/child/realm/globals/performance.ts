/** `performance` with the clock only. `Temporal` has the finest clock of the language. */

declare const Temporal: { Now: { instant(): { epochNanoseconds: bigint } } };

const NS_PER_MS = 1e6;

/**
 * `readClock` answers milliseconds since 1970 that never run backwards, from the clock it is given. `engineNs`: the engine's
 * clock in nanoseconds since 1970, where `Temporal` no longer is it.
 */
export function createPerformance(
  readClock: (read: () => number) => number,
  engineNs: (() => bigint) | null,
): object {
  const { instant } = Temporal.Now;
  const readNs = engineNs ?? (() => instant().epochNanoseconds);
  const read = () => Number(readNs()) / NS_PER_MS;
  const timeOrigin = readClock(read);
  return { now: () => readClock(read) - timeOrigin, timeOrigin, toJSON: () => ({ timeOrigin }) };
}
