import type { PageRequest } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import type { Rule } from "./rules.ts";

export interface PolicyRow extends Rule {
  position: number;
  keyIds: string[];
  createdAt: Date;
}

export type NewPolicy = Omit<PolicyRow, "position" | "createdAt">;

export async function countPolicies(db: Db): Promise<number> {
  const [row] = await db<{ count: number }[]>`select count(*)::int as count from policies`;
  return row?.count ?? 0;
}

/**
 * Call within `change`. `first` puts the rule before all others. Throws a foreign key violation if the role does not
 * exist.
 */
export async function insertPolicy(db: Db, policy: NewPolicy, place: "first" | "last"): Promise<PolicyRow> {
  const [row] = await db<PolicyRow[]>`
    insert into policies (
      id, position, service_pattern, tool_pattern, role_id, no_role, process_id, decision, expires_at, approval_id,
      replaces, key_ids
    )
    select ${policy.id},
      case when ${place === "first"} then coalesce(min(position), 1) - 1 else coalesce(max(position), 0) + 1 end,
      ${policy.servicePattern}, ${policy.toolPattern}, ${policy.roleId}, ${policy.noRole}::boolean,
      ${policy.processId}::bigint, ${policy.decision}, ${policy.expiresAt}::timestamptz, ${policy.approvalId},
      ${policy.replaces}, ${[...policy.keyIds]}::text[]
    from policies
    returning ${columns(db)}`;
  return row as PolicyRow;
}

export async function findPolicy(db: Db, id: string): Promise<PolicyRow | null> {
  const [row] = await db<PolicyRow[]>`select ${columns(db)} from policies where id = ${id}`;
  return row ?? null;
}

/** Call within `change`, after `findPolicy`. Throws like `insertPolicy`. */
export async function replacePolicy(db: Db, policy: NewPolicy): Promise<PolicyRow | null> {
  const [row] = await db<PolicyRow[]>`
    update policies set service_pattern = ${policy.servicePattern}, tool_pattern = ${policy.toolPattern},
      role_id = ${policy.roleId}, no_role = ${policy.noRole}, decision = ${policy.decision}, expires_at = ${policy.expiresAt}
    where id = ${policy.id} returning ${columns(db)}`;
  return row ?? null;
}

export async function deletePolicy(db: Db, id: string): Promise<boolean> {
  const rows = await db`delete from policies where id = ${id} returning id`;
  return rows.length === 1;
}

export async function deleteExpiredPolicies(db: Db): Promise<number> {
  const rows = await db`delete from policies where expires_at <= now() returning id`;
  return rows.length;
}

/** Renumbers the rules in the order of `ids`. Returns false and changes nothing unless `ids` lists every rule. */
export async function orderPolicies(db: Db, ids: readonly string[]): Promise<boolean> {
  if (ids.length === 0) return (await countPolicies(db)) === 0;
  const rows = await db`
    with wanted as (
      select id, place from unnest(${[...ids]}::text[]) with ordinality as wanted (id, place)
    )
    update policies as p set position = wanted.place from wanted
    where p.id = wanted.id
      and (select count(*) from policies) = ${ids.length}
      and not exists (select from wanted where not exists (select from policies where policies.id = wanted.id))
    returning p.id`;
  return rows.length === ids.length;
}

export async function listPolicyRows(db: Db, page: PageRequest<number>): Promise<PolicyRow[]> {
  return db<PolicyRow[]>`
    select ${columns(db)} from policies where (${page.from}::int is null or position > ${page.from})
    order by position limit ${page.limit}`;
}

export async function readPolicies(db: Db): Promise<PolicyRow[]> {
  return db<PolicyRow[]>`select ${columns(db)} from policies order by position`;
}

function columns(db: Db) {
  return db`position, id, service_pattern as "servicePattern", tool_pattern as "toolPattern", role_id as "roleId", no_role as "noRole",
    approval_id as "approvalId", replaces, key_ids as "keyIds", process_id as "processId", decision, expires_at as "expiresAt", created_at as "createdAt"`;
}
