import { type PageRequest, readPage } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import type { ReplicaPosition, ReplicaRecord } from "./model.ts";
import { type ListedReplicaRow, listReplicaRows } from "./store.ts";

export interface Roster {
  list(page: PageRequest<ReplicaPosition>): Promise<{
    replicas: ReplicaRecord[];
    next: ReplicaPosition | null;
  }>;
}

export interface RosterOptions {
  db: Db;
  id: string;
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
    async list(page) {
      const { rows, next } = await readPage(
        page,
        (at) => listReplicaRows(db, at),
        ({ startedUs, id }) => ({ startedUs, id }),
      );
      return { replicas: rows.map(toRecord), next };
    },
  };
}
