/**
 * Timings that tests wait for. Operators have no reason to change them, so docs/configuration.md leaves them out. CYRNEL_TIMINGS
 * takes some of them as a JSON object.
 */
import { z } from "zod";

const milliseconds = (fallback: number) => z.int().min(1).max(3_600_000).default(fallback);

const timingsSchema = z.strictObject({
  /** Longest that one statement may run in the database. */
  statementTimeoutMs: milliseconds(15_000),
  /** How much later than that its answer may come before the connection is closed. */
  answerMarginMs: milliseconds(3000),
  /** Longest wait for a connection while all are busy. */
  waitTimeoutMs: milliseconds(10_000),
  /** How often a connection that listens for notices is checked; it is closed if an answer takes as long. */
  listenCheckMs: milliseconds(5000),
  /** How often a server says that it is there. */
  beatIntervalMs: milliseconds(5000),
  /** Silence after which a server is lost. */
  maxSilentMs: milliseconds(20_000),
  /** How often a server compares its claims with its runs. */
  reconcileIntervalMs: milliseconds(3000),
  /** How long a server may fail to do its work while its database is in order. Longer than a statement and its answer may take. */
  maxStuckMs: milliseconds(30_000),
  /** How often in a row, a second apart, another connection must be able to write before that server ends itself. */
  minWritable: z.int().min(1).default(20),
});

export type Timings = Readonly<z.output<typeof timingsSchema>>;

export const DEFAULT_TIMINGS: Timings = Object.freeze(timingsSchema.parse({}));

/** @throws Error if the text is not a JSON object of timings. */
export function parseTimings(text: string | undefined): Timings {
  return text === undefined ? DEFAULT_TIMINGS : Object.freeze(timingsSchema.parse(JSON.parse(text)));
}
