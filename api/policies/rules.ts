/** The rules compiled: which of them is the first to match a call. Knows no database. */
import {
  compileSegment,
  compileToolPattern,
  createToolIndex,
  listNamed,
  type PlacedEntry,
  testTool,
} from "../tool-patterns.ts";
import type { Decision } from "./model.ts";

export interface Rule {
  id: string;
  servicePattern: string;
  toolPattern: string;
  /** Null: for every caller. */
  roleId: string | null;
  /** Null: for every process. */
  processId: number | null;
  decision: Decision;
  /** Null: for ever. */
  expiresAt: Date | null;
}

export interface RuleCall {
  serviceId: string;
  toolId: string;
  roleId?: string | undefined;
  processId?: number | undefined;
}

export interface RuleSet {
  /** The first rule that matches; null when none does. */
  find(call: RuleCall): Rule | null;
  /** The moment at which the next rule expires and this set is wrong: Unix milliseconds, or infinity. */
  readonly validUntilMs: number;
}

/** `rules` in the order in which they are asked; those that have expired at `nowMs` (Unix milliseconds) are left out. */
export function compileRules(rules: readonly Rule[], nowMs: number): RuleSet {
  const inForce = rules.filter((rule) => rule.expiresAt === null || rule.expiresAt.getTime() > nowMs);
  const validUntilMs = Math.min(
    ...inForce.map((rule) => rule.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY),
  );
  const index = createToolIndex(
    inForce.map((rule) => ({
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
  };
}

/** Whether a rule is also about what lies below the tools it names: what restrains does, what allows does not. */
export function coversBelow(decision: Decision): boolean {
  return decision !== "allow";
}

function findFirst(entries: readonly PlacedEntry<Rule>[], call: RuleCall): PlacedEntry<Rule> | null {
  for (const entry of entries) {
    const { roleId, processId } = entry.value;
    if (roleId !== null && roleId !== call.roleId) continue;
    if (processId !== null && processId !== call.processId) continue;
    if (testTool(entry.tool, call.toolId)) return entry;
  }
  return null;
}
