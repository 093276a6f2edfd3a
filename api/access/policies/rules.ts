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
  /** Role that the rule applies to. Null means every caller or, with `noRole`, callers without a role. */
  roleId: string | null;
  noRole: boolean;
  processId: number | null;
  decision: Decision;
  expiresAt: Date | null;
  approvalId: string | null;
  /** Set only on remembered rules: the rule whose `ask` this one replaces, or null for the default. */
  replaces: string | null;
  /** Ids of keys that must all be valid for a remembered rule to apply. */
  keyIds: readonly string[];
}

export interface RuleCall {
  serviceId: string;
  toolId: string;
  roleId?: string | undefined;
  processId?: number | undefined;
}

export interface RuleSet {
  /** Returns the first matching rule. Ignores remembered rules. */
  find(call: RuleCall): Rule | null;
  /**
   * Finds a remembered rule for exactly this tool that replaces the `ask` of rule `replaced`, or of the default if
   * null.
   */
  findRemembered(call: RuleCall, replaced: string | null, isLiveKey: (keyId: string) => boolean): Rule | null;
  /** Unix time in milliseconds when the next rule expires and this set becomes stale, or Infinity. */
  readonly validUntilMs: number;
}

/** Keeps the order of `rules` and omits those that have expired at `nowMs` (Unix time in milliseconds). */
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

/**
 * Returns whether a rule also covers tools nested below the ones it names: a restriction does, a permission does not.
 */
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
