/**
 * Reads `audit_log` by time, in either direction, between two positions. Each filter has an index in that order. A
 * single filter is written as a range of its index, because the planner might otherwise scan by time until it finds
 * enough matches, which may all be old. With several filters the planner chooses.
 */
import type { Db, Fragment } from "#api/db/pool.ts";
import type { AuditFilter, AuditPosition } from "./model.ts";
import type { AuditRow } from "./store.ts";

export type StoredAuditRow = AuditRow & { id: number; atUs: number };

export interface AuditPageQuery {
  order: "newest first" | "oldest first";
  from: AuditPosition | null;
  upTo: number | null;
  limit: number;
}

interface Lead {
  name: keyof AuditFilter;
  column: Fragment;
  value: Fragment;
}

export async function readAuditRows(
  db: Db,
  filter: AuditFilter,
  page: AuditPageQuery,
): Promise<StoredAuditRow[]> {
  const { action } = filter;
  if (action === undefined || !action.endsWith(".*")) {
    return db`select ${columns(db)} from audit_log a ${wherePage(db, filter, findLead(db, filter), page)}`;
  }
  const value = db`value.name`;
  const others = { ...filter, action: undefined };
  const isAlone = listLeads(others).length === 0;
  const each = isAlone
    ? wherePage(db, others, { name: "action", column: db`a.action`, value }, page)
    : wherePage(db, others, null, page, db`and a.action = ${value}`);
  return db`
    with recursive names (name) as (
      (select action from audit_log order by action limit 1)
      union all
      select (select action from audit_log where action > names.name order by action limit 1)
      from names where names.name is not null
    )
    select ${columns(db)}
    from (select name from names where starts_with(name, ${action.slice(0, -1)})) value
      cross join lateral (select * from audit_log a ${each}) a
    order by ${inOrder(db, page, [db`a.at`, db`a.id`])} limit ${page.limit}`;
}

export async function readLastAuditId(db: Db): Promise<number> {
  const [row] = await db<{ id: number | null }[]>`select max(id) as id from audit_log`;
  return row?.id ?? 0;
}

function wherePage(
  db: Db,
  filter: AuditFilter,
  lead: Lead | null,
  page: AuditPageQuery,
  more: Fragment = db``,
): Fragment {
  const { above, below } = spanOf(filter, page);
  const key = lead === null ? db`a.at, a.id` : db`${lead.column}, a.at, a.id`;
  const first = lead === null ? db`` : db`${lead.value},`;
  const place = ({ atUs, id }: AuditPosition) =>
    db`(${first} timestamptz 'epoch' + ${atUs} * interval '1 microsecond', ${id}::bigint)`;
  const start = above
    ? db`and (${key}) > ${place(above)}`
    : lead
      ? db`and ${lead.column} >= ${lead.value}`
      : db``;
  const end = below
    ? db`and (${key}) < ${place(below)}`
    : lead
      ? db`and ${lead.column} <= ${lead.value}`
      : db``;
  const sorted = [...(lead === null ? [] : [lead.column]), db`a.at`, db`a.id`];
  return db`
    where true ${conditions(db, filter, lead?.name ?? null)} ${more} ${start} ${end}
      ${page.upTo === null ? db`` : db`and a.id <= ${page.upTo}`}
    order by ${inOrder(db, page, sorted)} limit ${page.limit}`;
}

function spanOf(
  { from, to }: AuditFilter,
  page: AuditPageQuery,
): { above: AuditPosition | null; below: AuditPosition | null } {
  const isDescending = page.order === "newest first";
  // Ids start at 1, so no record has this position.
  const edge = (time: Date | undefined) => time && { atUs: time.getTime() * 1000, id: 0 };
  const places = (...all: (AuditPosition | null | undefined)[]) =>
    all.filter((place) => place != null).sort((left, right) => left.atUs - right.atUs || left.id - right.id);
  return {
    above: places(edge(from), isDescending ? null : page.from).at(-1) ?? null,
    below: places(edge(to), isDescending ? page.from : null).at(0) ?? null,
  };
}

function inOrder(db: Db, page: AuditPageQuery, [first, ...rest]: readonly Fragment[]): Fragment {
  if (first === undefined) return db``;
  const sorted = page.order === "newest first" ? db`${first} desc` : first;
  return rest.length === 0 ? sorted : db`${sorted}, ${inOrder(db, page, rest)}`;
}

function listLeads({ actor, action, objectKind, objectId, outcome, decision }: AuditFilter) {
  const given = {
    actor,
    action,
    objectKind,
    objectId,
    outcome: outcome === "ok" ? undefined : outcome,
    decision,
  };
  return Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name: name as keyof typeof given, value }],
  );
}

function findLead(db: Db, filter: AuditFilter): Lead | null {
  const [lead, ...others] = listLeads(filter);
  const isRare = filter.processId !== undefined || filter.requestId !== undefined;
  if (lead === undefined || others.length > 0 || isRare) return null;
  const { name, value } = lead;
  if (name === "decision" && value === "allow") {
    // Most calls are allowed, and only calls have decisions, so the action's index serves as well.
    return { name: "action", column: db`a.action`, value: db`'tool.call'` };
  }
  return { name, column: leadColumn(db, name), value: db`${value}` };
}

function leadColumn(db: Db, name: ReturnType<typeof listLeads>[number]["name"]): Fragment {
  switch (name) {
    case "actor":
      return db`a.actor_id`;
    case "action":
      return db`a.action`;
    case "objectKind":
      return db`a.object_kind`;
    case "objectId":
      return db`a.object_id`;
    case "outcome":
      return db`a.outcome`;
    case "decision":
      return db`a.decision`;
  }
}

function conditions(db: Db, filter: AuditFilter, leading: Lead["name"] | null): Fragment {
  const { actor, action, objectKind, objectId, outcome, decision, processId, requestId } = filter;
  const unless = (name: Lead["name"], condition: Fragment) => (leading === name ? db`` : condition);
  return db`
    ${actor === undefined ? db`` : unless("actor", db`and a.actor_id = ${actor}`)}
    ${action === undefined ? db`` : unless("action", db`and a.action = ${action}`)}
    ${objectKind === undefined ? db`` : unless("objectKind", db`and a.object_kind = ${objectKind}`)}
    ${objectId === undefined ? db`` : unless("objectId", db`and a.object_id = ${objectId}`)}
    ${outcome === undefined ? db`` : unless("outcome", db`and a.outcome = ${outcome}`)}
    ${decision === undefined ? db`` : unless("decision", db`and a.decision = ${decision}`)}
    ${outcome === undefined || outcome === "ok" ? db`` : db`and a.outcome <> 'ok'`}
    ${decision === undefined || decision === "allow" ? db`` : db`and a.decision <> 'allow'`}
    ${processId === undefined ? db`` : db`and a.process_id = ${processId}`}
    ${requestId === undefined ? db`` : db`and a.request_id = ${requestId}`}`;
}

function columns(db: Db): Fragment {
  return db`a.id, a.at, (extract(epoch from a.at) * 1000000)::bigint as "atUs", a.actor_kind as "actorKind",
    a.actor_id as "actorId", a.actor_name as "actorName", a.action, a.object_kind as "objectKind",
    a.object_id as "objectId", a.outcome, a.code, a.request_id as "requestId", a.process_id as "processId", a.decision,
    a.policy_id as "policyId", a.parameters_sha256 as "parametersSha256", a.parameters_preview as "parametersPreview",
    a.files, a.http_status as "httpStatus"`;
}
