/** The rules compiled: which of them is the first to match a call. Knows no database. */
import { compileSegment, createToolIndex, type PlacedEntry, testSegment } from "../tool-patterns.ts";
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
      test: { service: compileSegment(rule.servicePattern), tool: compileSegment(rule.toolPattern) },
      value: rule,
    })),
  );
  return {
    validUntilMs,
    find(call) {
      const { named, general } = index(call.serviceId);
      const first = findFirst(named.get(call.toolId) ?? [], call);
      const wild = findFirst(general, call);
      if (first === null || wild === null) return (first ?? wild)?.value ?? null;
      return first.place < wild.place ? first.value : wild.value;
    },
  };
}

function findFirst(entries: readonly PlacedEntry<Rule>[], call: RuleCall): PlacedEntry<Rule> | null {
  for (const entry of entries) {
    const { roleId, processId } = entry.value;
    if (roleId !== null && roleId !== call.roleId) continue;
    if (processId !== null && processId !== call.processId) continue;
    if (testSegment(entry.tool, call.toolId)) return entry;
  }
  return null;
}
