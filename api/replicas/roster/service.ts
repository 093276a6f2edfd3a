/** The servers on the database as people look at them: page by page. */
import type { Db } from "#api/db/pool.ts";
import type { ReplicaPosition, ReplicaRecord } from "./model.ts";
import { type ListedReplicaRow, listReplicaRows } from "./store.ts";

export interface Roster {
  list(page: { after: ReplicaPosition | null; limit: number }): Promise<{
    replicas: ReplicaRecord[];
    /** Where the next page starts; null at the end. */
    next: ReplicaPosition | null;
  }>;
}

export interface RosterOptions {
  db: Db;
  /** Of the server that answers. */
  id: string;
  /** A server that was not heard of for longer is lost. */
  maxSilentMs: number;
}

export function createRoster({ db, id, maxSilentMs }: RosterOptions): Roster {
  function toRecord(row: ListedReplicaRow): ReplicaRecord {
    const { draining, startedAt, startedUs, seenAt, silentMs, ...shown } = row;
    const isLost = silentMs > maxSilentMs;
    return {
      ...shown,
      state: isLost ? "lost" : draining ? "draining" : "up",
      isSelf: row.id === id,
      startedAt: startedAt.toISOString(),
      seenAt: seenAt.toISOString(),
    };
  }

  return {
    async list({ after, limit }) {
      const rows = await listReplicaRows(db, { after, limit: limit + 1 });
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      const next = rows.length > limit && last ? { startedUs: last.startedUs, id: last.id } : null;
      return { replicas: shown.map(toRecord), next };
    },
  };
}
