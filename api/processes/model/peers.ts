/**
 * What processes need of the other servers on the same database: to tell them, to be told, and to ask the one that
 * holds a run. api/replicas/ is what fills it; a server without any others has STANDALONE.
 */

import type { TrailCall } from "./calls.ts";
import type { ProcessView } from "./records.ts";

/** What happened to processes: ids only, the rest is in the database. */
export type QueueEvent =
  /** Now in the queue. */
  | "queued"
  /** Taken from the queue by a server. */
  | "claimed"
  /** No longer in the queue, and not taken by a server. */
  | "left"
  /** To be ended by the server that holds it. */
  | "kill";

export type WaitUntil = "idle" | "settled";

export interface Peers {
  /** Of this server; null: it has none, and no other is on the database. */
  readonly id: string | null;
  /** Other servers that are there, as far as is known. */
  readonly others: number;
  /** Whether another one takes runs: it is not about to stop, and has slots. */
  readonly canTake: boolean;
  /** Whether there was another a moment ago: what it held may have no server now. */
  readonly hadOthers: boolean;
  /**
   * How long another may be silent before it is lost. Null while that is not to be judged: this server has not been
   * heard of itself for as long, so the database may have been away for all.
   */
  readonly maxSilentMs: number | null;
  /** Whether this server was silent for so long that the others may have given it up. Reading it resets it. */
  consumeSilence(): boolean;
  /** The last migration that this program knows. Null: it may claim whatever the schema is. */
  readonly knownSchema: string | null;
  /** Whether a newer program has changed the schema: this one would not do all that is asked of a run. */
  readonly isOutdated: boolean;
  /** Cannot fail; a lost notice is made up for by looking. */
  publish(event: QueueEvent, ids: readonly number[]): void;
  /** News of others. */
  onEvent(listener: (event: QueueEvent, ids: readonly number[]) => void): () => void;
  /** Looks now and then, as long as the database answers. */
  onBeat(listener: () => Promise<void>): () => void;
  /** Asking another server about a run that it holds. Each rejects when it cannot be asked. */
  readonly remote: RemoteRuns;
}

export interface RemoteRuns {
  /** The process when it is idle (or paused), or as it is after `maxMs`. Null: it does not hold it. 0 ms: as it is. */
  readView(
    owner: string,
    id: number,
    wait: { until: WaitUntil; maxMs: number },
    signal: AbortSignal,
  ): Promise<ProcessView | null>;
  readCalls(owner: string, id: number): Promise<TrailCall[] | null>;
  /** Whole server-sent events as text. Ends when the run does, or when the other server lets go of it. */
  follow(
    owner: string,
    id: number,
    lastEventId: string | null,
    signal: AbortSignal,
  ): AsyncGenerator<string, void>;
}

const unknown = async () => null;

export const STANDALONE: Peers = {
  id: null,
  others: 0,
  canTake: false,
  hadOthers: false,
  maxSilentMs: null,
  consumeSilence: () => false,
  knownSchema: null,
  isOutdated: false,
  publish: () => {},
  onEvent: () => () => {},
  onBeat: () => () => {},
  remote: { readView: unknown, readCalls: unknown, async *follow() {} },
};
