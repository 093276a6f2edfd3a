/**
 * Other servers on the same database, as processes use them: notifying them, listening to them, and querying the one
 * that holds a run. Implemented by api/replicas/; a single server uses STANDALONE.
 */

import type { TrailCall } from "./calls.ts";
import type { ProcessView } from "./records.ts";

/** Changes of processes in the queue. Events carry only ids; the details are in the database. */
export type QueueEvent =
  | "queued"
  | "claimed"
  /** Removed from the queue without being claimed. */
  | "left"
  /** To be ended by the server that holds it. */
  | "kill";

export type WaitUntil = "idle" | "settled";

export interface Peers {
  /** Id of this server, or null if no other server uses the database. */
  readonly id: string | null;
  /** Number of other servers that are known to be up. */
  readonly others: number;
  /** True if another server takes runs: it is not about to stop and has slots. */
  readonly canTake: boolean;
  /** True if another server was up a moment ago. Its runs may have no server now. */
  readonly hadOthers: boolean;
  /**
   * Silence after which another server counts as lost. Null while this server itself has not been heard for as long:
   * the database may have been down for all servers.
   */
  readonly maxSilentMs: number | null;
  /** Returns true if this server was silent for so long that others may have given it up. Reading resets the flag. */
  consumeSilence(): boolean;
  /** Latest migration known to this program. Null allows claims regardless of the schema. */
  readonly knownSchema: string | null;
  /** True if a newer program has changed the schema, so this program might not do everything a run needs. */
  readonly isOutdated: boolean;
  /** Never fails. A lost notification is made up for by regular checks. */
  publish(event: QueueEvent, ids: readonly number[]): void;
  onEvent(listener: (event: QueueEvent, ids: readonly number[]) => void): () => void;
  onBeat(listener: () => Promise<void>): () => void;
  /** Queries another server about a run it holds. Each method rejects if that server cannot be reached. */
  readonly remote: RemoteRuns;
}

export interface RemoteRuns {
  /**
   * Returns the process once it is idle or paused, or its current state after `maxMs`; 0 ms returns at once. Returns
   * null if that server does not hold it.
   */
  readView(
    owner: string,
    id: number,
    wait: { until: WaitUntil; maxMs: number },
    signal: AbortSignal,
  ): Promise<ProcessView | null>;
  readCalls(owner: string, id: number): Promise<TrailCall[] | null>;
  /** Returns complete server-sent events as text. Ends when the run ends or the other server releases it. */
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
