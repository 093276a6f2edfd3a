/**
 * Clocks that few scripts read: `performance`, `Temporal.Now`, and formatters that default to the current time.
 * Loaded only for a script that names one, because touching `Temporal` makes every start slower.
 */

interface Instant {
  toZonedDateTimeISO(zone: string): Zoned;
}
interface Zoned {
  toPlainDateTime(): unknown;
  toPlainDate(): unknown;
  toPlainTime(): unknown;
}
declare const Temporal: {
  Now: { timeZoneId(): string; instant(): { epochNanoseconds: bigint } };
  Instant: { fromEpochMilliseconds(ms: number): Instant };
};

/**
 * Makes these clocks read `nowMs`, in whole milliseconds since 1970. Returns the engine's clock, in nanoseconds since
 * 1970.
 */
export function installWideClocks(nowMs: () => number): () => bigint {
  const { Now, Instant } = Temporal;
  const engineInstant = Now.instant;
  const timeZoneId = Now.timeZoneId;
  const fromEpochMilliseconds = Instant.fromEpochMilliseconds.bind(Instant);
  const instant = () => fromEpochMilliseconds(nowMs());
  const zoned = (zone: string = timeZoneId()) => instant().toZonedDateTimeISO(zone);
  define(Now, {
    instant: () => instant(),
    zonedDateTimeISO: (zone?: string) => zoned(zone),
    plainDateTimeISO: (zone?: string) => zoned(zone).toPlainDateTime(),
    plainDateISO: (zone?: string) => zoned(zone).toPlainDate(),
    plainTimeISO: (zone?: string) => zoned(zone).toPlainTime(),
  });

  const { prototype } = Intl.DateTimeFormat;
  const { apply } = Reflect;
  const { formatToParts } = prototype;
  const format = Object.getOwnPropertyDescriptor(prototype, "format")?.get as () => (date: unknown) => string;
  define(prototype, {
    formatToParts(this: Intl.DateTimeFormat, date?: Date | number) {
      return apply(formatToParts, this, [date === undefined ? nowMs() : date]);
    },
  });
  Object.defineProperty(prototype, "format", {
    get(this: Intl.DateTimeFormat) {
      const own = apply(format, this, []);
      return (date?: unknown) => own(date === undefined ? nowMs() : date);
    },
    configurable: true,
  });
  return () => engineInstant().epochNanoseconds;
}

function define(target: object, members: Record<string, (...args: never[]) => unknown>): void {
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(target, name, { value, writable: true, configurable: true });
  }
}

const NS_PER_MS = 1e6;

/**
 * `readClock` turns a clock's reading into milliseconds since 1970 that never decrease. `engineNs` is the engine's
 * clock in nanoseconds since 1970, needed once `Temporal` was replaced.
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
