/**
 * Timings that tests wait for. Operators have no reason to change them, so docs/configuration.md omits them.
 * CYRNEL_TIMINGS overrides some of them with a JSON object.
 */
import { z } from "zod";

const milliseconds = (fallback: number) => z.int().min(1).max(3_600_000).default(fallback);

const timingsSchema = z.strictObject({
  /** Maximum time that one statement may run in the database. */
  statementTimeoutMs: milliseconds(15_000),
  /** Additional time for the reply to arrive before the connection is closed. */
  answerMarginMs: milliseconds(3000),
  /** Maximum wait for a connection while all are busy. */
  waitTimeoutMs: milliseconds(10_000),
  /** Interval between checks of a listening connection. It is closed if a reply takes as long. */
  listenCheckMs: milliseconds(5000),
  /** Interval of server heartbeats. */
  beatIntervalMs: milliseconds(5000),
  /** Silence after which a server counts as lost. */
  maxSilentMs: milliseconds(20_000),
  /** Interval between comparisons of a server's claims and runs. */
  reconcileIntervalMs: milliseconds(3000),
  /**
   * Time for which a server may fail to do its work although its database works. Must exceed the time for a statement
   * and its reply.
   */
  maxStuckMs: milliseconds(30_000),
  /**
   * Number of consecutive checks, a second apart, in which another connection must be able to write before a stuck
   * server exits.
   */
  minWritable: z.int().min(1).default(20),
});

export type Timings = Readonly<z.output<typeof timingsSchema>>;

export const DEFAULT_TIMINGS: Timings = Object.freeze(timingsSchema.parse({}));

/** Throws Error if the text is not a JSON object of timings. */
export function parseTimings(text: string | undefined): Timings {
  return text === undefined ? DEFAULT_TIMINGS : Object.freeze(timingsSchema.parse(JSON.parse(text)));
}
