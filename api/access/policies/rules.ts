/** The rules compiled: which of them is the first to match a call. Knows no database. */
import {
  compileSegment,
  compileToolPattern,
  createToolIndex,
  listNamed,
  type PlacedEntry,
  testTool,
} from "#kernel/tool-patterns.ts";
import type { Decision } from "./model.ts";

export interface Rule {
  id: string;
  servicePattern: string;
  toolPattern: string;
  /** Null: for every caller, or, with `noRole`, for those without a role. */
  roleId: string | null;
  noRole: boolean;
  /** Null: for every process. */
  processId: number | null;
  decision: Decision;
  /** Null: for ever. */
  expiresAt: Date | null;
  /** Where it was remembered. Null: an administrator made it. */
  approvalId: string | null;
  /** Of a remembered one: the rule whose `ask` it replaces; null: that of the default. */
  replaces: string | null;
  /** Of a remembered one: it counts as long as all of these keys do. */
  keyIds: readonly string[];
}

export interface RuleCall {
  serviceId: string;
  toolId: string;
  roleId?: string | undefined;
  processId?: number | undefined;
}

export interface RuleSet {
  /** The first rule that matches; null when none does. Remembered ones are none of them. */
  find(call: RuleCall): Rule | null;
  /** A remembered rule for this very tool that replaces the `ask` of a rule, or of the default (null). */
  findRemembered(call: RuleCall, replaced: string | null, isLiveKey: (keyId: string) => boolean): Rule | null;
  /** The moment at which the next rule expires and this set is wrong: Unix milliseconds, or infinity. */
  readonly validUntilMs: number;
}

/** `rules` in the order in which they are asked; those that have expired at `nowMs` (Unix milliseconds) are left out. */
export function compileRules(rules: readonly Rule[], nowMs: number): RuleSet {
  const inForce = rules.filter((rule) => rule.expiresAt === null || rule.expiresAt.getTime() > nowMs);
  const validUntilMs = Math.min(
    ...inForce.map((rule) => rule.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY),
  );
  const remembered = Map.groupBy(
    inForce.filter(({ approvalId }) => approvalId !== null),
    ({ servicePattern, toolPattern }) => `${servicePattern}.${toolPattern}`,
  );
  const ordered = inForce.filter(({ approvalId }) => approvalId === null);
  const index = createToolIndex(
    ordered.map((rule) => ({
      test: {
        service: compileSegment(rule.servicePattern),
        tool: compileToolPattern(rule.toolPattern, coversBelow(rule.decision)),
      },
      value: rule,
    })),
  );
  return {
    validUntilMs,
    find(call) {
      const own = index(call.serviceId);
      let first: PlacedEntry<Rule> | null = null;
      for (const entries of [...listNamed(own, call.toolId), own.general]) {
        const found = findFirst(entries, call);
        if (found !== null && (first === null || found.place < first.place)) first = found;
      }
      return first?.value ?? null;
    },
    findRemembered(call, replaced, isLiveKey) {
      const rules = remembered.get(`${call.serviceId}.${call.toolId}`) ?? [];
      const fits = (rule: Rule) =>
        rule.replaces === replaced && isFor(rule, call) && rule.keyIds.every(isLiveKey);
      return rules.find(fits) ?? null;
    },
  };
}

/** Whether a rule is also about what lies below the tools it names: what restrains does, what allows does not. */
export function coversBelow(decision: Decision): boolean {
  return decision !== "allow";
}

function findFirst(entries: readonly PlacedEntry<Rule>[], call: RuleCall): PlacedEntry<Rule> | null {
  for (const entry of entries) {
    if (isFor(entry.value, call) && testTool(entry.tool, call.toolId)) return entry;
  }
  return null;
}

function isFor({ roleId, noRole, processId }: Rule, call: RuleCall): boolean {
  if (noRole ? call.roleId !== undefined : roleId !== null && roleId !== call.roleId) return false;
  return processId === null || processId === call.processId;
}
