import type { PageRequest } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import type { ReplicaRow } from "../model.ts";
import type { ReplicaPosition } from "./model.ts";

export interface ListedReplicaRow
  extends Pick<ReplicaRow, "id" | "name" | "version" | "draining" | "address" | "slots" | "silentMs"> {
  environment: string | null;
  running: number;
  startedAt: Date;
  startedUs: number;
  seenAt: Date;
}

export async function listReplicaRows(
  db: Db,
  page: PageRequest<ReplicaPosition>,
): Promise<ListedReplicaRow[]> {
  const { from: after, limit } = page;
  return db<ListedReplicaRow[]>`
    with runs as (
      select replica, count(*)::int as held from processes
      where state in ('running', 'terminating') and replica is not null group by replica
    )
    select r.id, r.name, r.version, r.draining, r.address, r.slots, coalesce(runs.held, 0) as running,
      r.started_at as "startedAt", (extract(epoch from r.started_at) * 1000000)::bigint as "startedUs",
      (
        select m.id from json_each(r.modules) there join modules m on m.id = there.key
        where m.type = 'environment' and there.value ->> 'state' = 'active' order by m.id limit 1
      ) as environment,
      r.seen_at as "seenAt", extract(epoch from now() - r.seen_at)::float8 * 1000 as "silentMs"
    from replicas r left join runs on runs.replica = r.id
    where ${after === null}::boolean
      or ((extract(epoch from r.started_at) * 1000000)::bigint, r.id) < (${after?.startedUs ?? 0}::bigint, ${after?.id ?? null}::uuid)
    order by r.started_at desc, r.id desc limit ${limit}`;
}
