/** One thing that is measured, and what all of them have in common. */

export interface Operation {
  name: string;
  /** Has to stay within the ratio. */
  isBound?: boolean;
  /** Not in each round: it is slow, or uses up rows that are there. */
  isSeldom?: boolean;
  /** Not timed; its answer goes to `run`. */
  before?: () => Promise<unknown>;
  run(given: unknown): Promise<unknown>;
  /** Not timed; gets the answer of `run`. */
  after?: (answer: never) => Promise<unknown>;
}

export const DAY_MS = 24 * 60 * 60_000;
/** What a listing shows. */
export const PAGE = 50;
