import { type PageRequest, readNumberedPage } from "#api/bounds/page.ts";
import type { DefaultPolicy } from "#api/config/default-policies.ts";
import { AppError } from "#api/errors.ts";
import type { KnownTool } from "#api/tools/store.ts";
import {
  type ChangeOptions,
  change,
  makeId,
  readExpiry,
  refuseBody,
  refuseMore,
  refuseUnknownRole,
} from "../changes.ts";
import { compileSegment, compileToolPattern, testSegment, testTool } from "../tool-patterns.ts";
import type { PolicyDirectory } from "./directory.ts";
import {
  type ChangedPolicy,
  type CreatePolicyBody,
  type Decision,
  MAX_POLICIES,
  MAX_PREVIEW_TOOLS,
  type PatchPolicyBody,
  type PolicyRecord,
  type Preview,
  type PreviewQuery,
} from "./model.ts";
import { coversBelow } from "./rules.ts";
import {
  countPolicies,
  deleteExpiredPolicies,
  deletePolicy,
  findPolicy,
  insertPolicy,
  listPolicyRows,
  orderPolicies,
  type PolicyRow,
  replacePolicy,
} from "./store.ts";

export interface Policies {
  /**
   * Adds a rule after all others, in force once this resolves. Throws AppError `invalid_request`, `limit_reached`.
   */
  create(body: CreatePolicyBody): Promise<ChangedPolicy>;
  /** Stores an approval as a rule that, until `expiresAt`, replaces the `ask` that stopped the call. */
  remember(rule: RememberedRule): Promise<PolicyRecord>;
  list(
    page: PageRequest<number>,
  ): Promise<{ policies: PolicyRecord[]; defaultPolicy: DefaultPolicy; next: number | null }>;
  /** Throws AppError `not_found`, `invalid_request`. */
  change(id: string, body: PatchPolicyBody): Promise<ChangedPolicy>;
  /** Throws AppError `policy_order_mismatch` unless `ids` are exactly the existing rules. */
  order(ids: readonly string[]): Promise<void>;
  remove(id: string): Promise<void>;
  /** `isVisible` hides tools that the caller's key may not see. */
  preview(query: PreviewQuery, isVisible: (tool: KnownTool) => boolean): Promise<Preview>;
  sweep(): Promise<void>;
}

export interface RememberedRule {
  serviceId: string;
  toolId: string;
  approvalId: string;
  /** Id of the rule whose `ask` this replaces, or null if the default asked. */
  replaces: string | null;
  keyIds: readonly string[];
  /** Role of the process. Null matches only callers without a role. */
  roleId: string | null;
  processId: number | null;
  expiresAt: Date;
}

export interface PoliciesOptions extends ChangeOptions {
  directory: PolicyDirectory;
  defaultPolicy: DefaultPolicy;
  listTools: () => Promise<readonly KnownTool[]>;
}

export function createPolicies(options: PoliciesOptions): Policies {
  const { pool, directory, defaultPolicy, listTools } = options;
  const alone = ["policies"] as const;

  function insert(policy: Omit<PolicyRow, "position" | "createdAt" | "id">, place: "first" | "last") {
    const add = async (db: Parameters<typeof insertPolicy>[0]) => {
      if ((await countPolicies(db)) < MAX_POLICIES) {
        return insertPolicy(db, { ...policy, id: makeId("pol") }, place);
      }
      throw refuseMore(MAX_POLICIES, "policies", "Delete some, or write one with a wildcard.");
    };
    return change(options, alone, add, { reference: () => refuseUnknownRole(policy.roleId) });
  }

  async function describeChange(row: PolicyRow): Promise<ChangedPolicy> {
    const tools = matchTools(row, await listTools());
    return { ...toRecord(row), affected: tools.length, hints: describeReach(row, tools, directory) };
  }

  return {
    async create(body) {
      refuseTwoRoles(body);
      const expiresAt = readExpiry(body.expiresAt);
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
    async list(page) {
      const { rows, next } = await readNumberedPage(page, (at) => listPolicyRows(pool, at));
      return { policies: rows.map(toRecord), defaultPolicy, next };
    },
    async change(id, body) {
      const { expiresAt, ...rest } = body;
      const changed = {
        ...dropUndefined(rest),
        ...(expiresAt === undefined ? {} : { expiresAt: readExpiry(expiresAt) }),
      };
      const row = await change(
        options,
        alone,
        async (db) => {
          const current = await findPolicy(db, id);
          if (current === null) return null;
          if (current.approvalId !== null) refuseOtherThanExpiry(changed);
          const wanted = { ...current, ...changed };
          refuseTwoRoles(wanted);
          return replacePolicy(db, wanted);
        },
        { reference: () => refuseUnknownRole(body.roleId ?? null) },
      );
      if (row === null) throw refuseUnknown(id);
      return describeChange(row);
    },
    async order(ids) {
      if (await change(options, alone, (db) => orderPolicies(db, ids))) return;
      throw new AppError(
        "policy_order_mismatch",
        "orderedIds must name every policy exactly once. Read all pages of GET /policies again and repeat the change.",
      );
    },
    async remove(id) {
      if (!(await change(options, alone, (db) => deletePolicy(db, id)))) throw refuseUnknown(id);
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
      await change(options, alone, deleteExpiredPolicies);
    },
  };
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

/** Throws if anything but the expiry changes: an approval covered exactly this tool, role and keys. */
function refuseOtherThanExpiry(change: object): void {
  const [field] =
    Object.entries(change).find(([name, value]) => name !== "expiresAt" || value === null) ?? [];
  if (field === undefined) return;
  throw refuseBody(
    field,
    "only expiresAt of a remembered approval can be changed; delete it, or create your own rule",
  );
}

function refuseUnknown(id: string): AppError {
  return new AppError("not_found", `There is no policy ${id}. GET /policies lists them.`);
}

export interface Patterns {
  servicePattern: string;
  toolPattern: string;
  decision?: Decision;
}

function matchTools(patterns: Patterns, tools: readonly KnownTool[]): KnownTool[] {
  const service = compileSegment(patterns.servicePattern);
  const { decision = "allow", toolPattern } = patterns;
  const tool = compileToolPattern(toolPattern, coversBelow(decision));
  return tools.filter(({ serviceId, toolId }) => testSegment(service, serviceId) && testTool(tool, toolId));
}

/**
 * Describes patterns that decide none of the tools they match. Returns an empty list if the rule decides at least one
 * tool. `id` is null for patterns without a rule.
 */
function describeReach(
  rule: Patterns & { id: string | null; roleId?: string | null | undefined },
  matched: readonly KnownTool[],
  directory: PolicyDirectory,
): string[] {
  const path = `${rule.servicePattern}.${rule.toolPattern}`;
  if (matched.length === 0) return [`${path} matches no installed tool.`];
  if (rule.id === null) return [];
  const roleId = rule.roleId ?? undefined;
  const decides = matched.some((tool) => directory.decide({ ...tool, roleId }).policyId === rule.id);
  return decides
    ? []
    : [`Earlier rules decide every tool that ${path} matches. Change the order: PUT /policies/order.`];
}
