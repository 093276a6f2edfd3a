/** What can be done with policies: add, list, change, order, delete, and see which tools they would decide. */
import { randomBytes } from "node:crypto";
import type { Pool } from "#api/db/pool.ts";
import type { RevisionWatch } from "#api/db/revisions.ts";
import { AppError } from "#api/errors.ts";
import type { KnownTool } from "#api/tools/known-tools.ts";
import type { DefaultPolicy } from "./defaults.ts";
import type { PolicyDirectory } from "./directory.ts";
import {
  type ChangedPolicy,
  type CreatePolicyBody,
  MAX_POLICIES,
  MAX_PREVIEW_TOOLS,
  type PatchPolicyBody,
  type PolicyRecord,
  type Preview,
  type PreviewQuery,
} from "./model.ts";
import { describeReach, matchTools } from "./reach.ts";
import {
  countPolicies,
  deleteExpiredPolicies,
  deletePolicy,
  findPolicy,
  insertPolicy,
  isUnknownRole,
  listPolicyRows,
  lockPolicies,
  orderPolicies,
  type PolicyRow,
  replacePolicy,
} from "./store.ts";

export interface PolicyPage {
  policies: PolicyRecord[];
  defaultPolicy: DefaultPolicy;
  /** Where the next page starts; null at the end. */
  next: number | null;
}

export interface Policies {
  /** Asked after all others. In force when it resolves. Throws AppError `invalid_request`, `limit_reached`. */
  create(body: CreatePolicyBody): Promise<ChangedPolicy>;
  /** For an approval that is to be remembered: replaces the `ask` that stopped it, until `expiresAt`. */
  remember(rule: RememberedRule): Promise<PolicyRecord>;
  list(page: { after: number | null; limit: number }): Promise<PolicyPage>;
  /** Throws AppError `not_found`, `invalid_request`. */
  change(id: string, body: PatchPolicyBody): Promise<ChangedPolicy>;
  /** Throws AppError `policy_order_mismatch` unless `ids` are exactly the rules there are. */
  order(ids: readonly string[]): Promise<void>;
  /** Throws AppError `not_found`. */
  remove(id: string): Promise<void>;
  /** `isVisible` leaves out what the asking key may not see. */
  preview(query: PreviewQuery, isVisible: (tool: KnownTool) => boolean): Promise<Preview>;
  /** Removes rules that are over. They have not counted since they expired. */
  sweep(): Promise<void>;
}

export interface RememberedRule {
  serviceId: string;
  toolId: string;
  approvalId: string;
  /** The rule that asked; null: the default. */
  replaces: string | null;
  /** The keys that it depends on. */
  keyIds: readonly string[];
  /** Of the process. Null: it has none, and neither have those it counts for. */
  roleId: string | null;
  /** Null: for every process. */
  processId: number | null;
  expiresAt: Date;
}

export interface PoliciesOptions {
  pool: Pool;
  watch: Pick<RevisionWatch, "refresh">;
  directory: PolicyDirectory;
  defaultPolicy: DefaultPolicy;
  /** Every installed tool. */
  listTools: () => Promise<readonly KnownTool[]>;
}

export function createPolicies(options: PoliciesOptions): Policies {
  const { pool, watch, directory, defaultPolicy, listTools } = options;

  async function insert(policy: Omit<PolicyRow, "position" | "createdAt" | "id">, place: "first" | "last") {
    const row = await pool
      .begin(async (transaction) => {
        await lockPolicies(transaction);
        if ((await countPolicies(transaction)) >= MAX_POLICIES) throw refuseMore();
        const id = `pol_${randomBytes(10).toString("hex")}`;
        return insertPolicy(transaction, { ...policy, id }, place);
      })
      .catch((error) => {
        throw isUnknownRole(error) ? refuseRole(policy.roleId) : error;
      });
    await watch.refresh();
    return row;
  }

  async function describeChange(row: PolicyRow): Promise<ChangedPolicy> {
    const tools = matchTools(row, await listTools());
    return { ...toRecord(row), affected: tools.length, hints: describeReach(row, tools, directory) };
  }

  return {
    async create(body) {
      refuseTwoRoles(body);
      const expiresAt = readFuture(body.expiresAt);
      const row = { ...NOT_REMEMBERED, ...body, expiresAt, processId: null };
      return describeChange(await insert(row, "last"));
    },
    async remember({ serviceId, toolId, keyIds, ...rest }) {
      const row = {
        ...rest,
        servicePattern: serviceId,
        toolPattern: toolId,
        decision: "allow" as const,
        noRole: rest.roleId === null,
        keyIds: [...new Set(keyIds)].sort(),
      };
      return toRecord(await insert(row, "first"));
    },
    async list({ after, limit }) {
      const rows = await listPolicyRows(pool, { after, limit: limit + 1 });
      const shown = rows.slice(0, limit);
      const next = rows.length > limit ? (shown.at(-1)?.position ?? null) : null;
      return { policies: shown.map(toRecord), defaultPolicy, next };
    },
    async change(id, body) {
      const { expiresAt, ...rest } = body;
      const change = {
        ...dropUndefined(rest),
        ...(expiresAt === undefined ? {} : { expiresAt: readFuture(expiresAt) }),
      };
      const row = await pool
        .begin(async (transaction) => {
          await lockPolicies(transaction);
          const current = await findPolicy(transaction, id);
          if (current === null) throw refuseUnknown(id);
          if (current.approvalId !== null) refuseOtherThanExpiry(change);
          const wanted = { ...current, ...change };
          refuseTwoRoles(wanted);
          const changed = await replacePolicy(transaction, wanted);
          if (changed === null) throw refuseUnknown(id);
          return changed;
        })
        .catch((error) => {
          throw isUnknownRole(error) ? refuseRole(body.roleId ?? null) : error;
        });
      await watch.refresh();
      return describeChange(row);
    },
    async order(ids) {
      const isDone = await pool.begin(async (transaction) => {
        await lockPolicies(transaction);
        return orderPolicies(transaction, ids);
      });
      await watch.refresh();
      if (isDone) return;
      throw new AppError(
        "policy_order_mismatch",
        "orderedIds must name every policy there is exactly once. Read GET /policies again to its end, and repeat the change.",
      );
    },
    async remove(id) {
      const removed = await pool.begin(async (transaction) => {
        await lockPolicies(transaction);
        return deletePolicy(transaction, id);
      });
      await watch.refresh();
      if (!removed) throw refuseUnknown(id);
    },
    async preview(query, isVisible) {
      const { roleId } = query;
      const tools = matchTools(query, await listTools()).filter(isVisible);
      const shown = tools.slice(0, MAX_PREVIEW_TOOLS).map(({ serviceId, toolId, destructive }) => {
        const { decision, policyId = null } = directory.decide({ serviceId, toolId, destructive, roleId });
        return { serviceId, id: toolId, destructive, decision, policyId };
      });
      const hints = tools.length === 0 ? describeReach({ ...query, id: null }, tools, directory) : [];
      return { tools: shown, affected: tools.length, hints };
    },
    async sweep() {
      const removed = await pool.begin(async (transaction) => {
        await lockPolicies(transaction);
        return deleteExpiredPolicies(transaction);
      });
      if (removed > 0) await watch.refresh();
    },
  };
}

function readFuture(text: string | null): Date | null {
  if (text === null) return null;
  const date = new Date(text);
  if (date.getTime() > Date.now()) return date;
  throw refuseBody("expiresAt", "expected a time in the future");
}

function dropUndefined<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;
}

function toRecord({ position: _, approvalId, replaces, keyIds, ...row }: PolicyRow): PolicyRecord {
  return {
    ...row,
    remembered: approvalId === null ? null : { approvalId, replaces, keyIds },
    expiresAt: row.expiresAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  };
}

const NOT_REMEMBERED = { approvalId: null, replaces: null, keyIds: [] };

function refuseTwoRoles({ noRole, roleId }: { noRole: boolean; roleId: string | null }): void {
  if (!noRole || roleId === null) return;
  throw refuseBody(
    "noRole",
    "expected either roleId or noRole: a rule is for one role or for callers without one",
  );
}

/** What was remembered was approved for this tool, this role and these keys. */
function refuseOtherThanExpiry(change: object): void {
  const [field] =
    Object.entries(change).find(([name, value]) => name !== "expiresAt" || value === null) ?? [];
  if (field === undefined) return;
  throw refuseBody(
    field,
    "of a remembered approval only expiresAt can be changed; delete it, or make a rule of your own",
  );
}

function refuseUnknown(id: string): AppError {
  return new AppError("not_found", `There is no policy ${id}. GET /policies lists them.`);
}

function refuseRole(roleId: string | null): AppError {
  return refuseBody("roleId", `there is no role ${roleId}: GET /roles lists them`);
}

function refuseBody(field: string, message: string): AppError {
  return new AppError("invalid_request", `The request is not valid: body.${field}: ${message}`, {
    issues: [{ path: `body.${field}`, message }],
  });
}

function refuseMore(): AppError {
  return new AppError(
    "limit_reached",
    `There are ${MAX_POLICIES} policies, which is the most there may be. Delete some, or write one with a wildcard.`,
  );
}
