/** Uses the database's time, because the servers' clocks may differ. */
import type { Db } from "../db/pool.ts";
import type { ReplicaFacts, ReplicaRow } from "./model.ts";

export interface Beat {
  /** Time since this server's last heartbeat, or null if it had none. */
  silentMs: number | null;
  heardForMs: number;
  schema: string | null;
}

/**
 * Records a heartbeat. A gap of `maxGapMs` without any heartbeat means that the database or all servers were down.
 */
export async function beat(db: Db, facts: ReplicaFacts, maxGapMs: number): Promise<Beat> {
  const { id, name, version, place, token, address, secretsKey, secretsKeys, slots, modules, draining } =
    facts;
  const [row] = await db<Beat[]>`
    with before as (
      select extract(epoch from now() - seen_at)::float8 * 1000 as silent from replicas where id = ${id}::uuid
    ), gap as (
      select coalesce(max(seen_at) < now() - make_interval(secs => ${maxGapMs / 1000}), true) as was from replicas
    ), began as (
      update replica_watch set heard_since = now() where (select was from gap) returning heard_since
    )
    insert into replicas (id, name, version, place, token, address, secrets_key, secrets_keys, slots, modules, draining)
    values (${id}::uuid, ${name}, ${version}, ${place && JSON.stringify(place)}::text::json, ${token}, ${address},
      ${secretsKey}, ${[...secretsKeys]}::text[], ${slots}::int, ${JSON.stringify(modules)}::text::json, ${draining})
    on conflict (id) do update set seen_at = now(), address = excluded.address, slots = excluded.slots,
      modules = excluded.modules, draining = excluded.draining
    returning (select silent from before) as "silentMs",
      extract(epoch from now() - coalesce((select heard_since from began), (select heard_since from replica_watch)))::float8
        * 1000 as "heardForMs",
      (select max(name) from schema_migrations) as schema`;
  return row ?? { silentMs: null, heardForMs: 0, schema: null };
}

export async function listOthers(db: Db, id: string): Promise<ReplicaRow[]> {
  return db<ReplicaRow[]>`
    select r.id, r.name, r.version, r.place, r.token, r.address, r.secrets_key as "secretsKey",
      r.secrets_keys as "secretsKeys", r.slots, r.modules, r.draining,
      extract(epoch from now() - r.seen_at)::float8 * 1000 as "silentMs",
      coalesce((r.started_at, r.id) < (own.started_at, own.id), true) as "isEarlier"
    from replicas r left join replicas own on own.id = ${id}::uuid
    where r.id <> ${id}::uuid order by r.started_at, r.id`;
}

export async function removeReplica(db: Db, id: string): Promise<void> {
  await db`delete from replicas where id = ${id}::uuid`;
}

export async function removeSilent(db: Db, silentMs: number): Promise<void> {
  await db`delete from replicas where seen_at < now() - make_interval(secs => ${silentMs / 1000})`;
}
