/** Which installed tools a rule is about, and what is worth telling about one that decides nothing. */

import type { KnownTool } from "#api/tools/known-tools.ts";
import { compileSegment, compileToolPattern, testSegment, testTool } from "../tool-patterns.ts";
import type { PolicyDirectory } from "./directory.ts";
import type { Decision } from "./model.ts";
import { coversBelow } from "./rules.ts";

export interface Patterns {
  servicePattern: string;
  toolPattern: string;
  /** Absent: for patterns without a rule. */
  decision?: Decision;
}

export function matchTools(patterns: Patterns, tools: readonly KnownTool[]): KnownTool[] {
  const service = compileSegment(patterns.servicePattern);
  const { decision = "allow", toolPattern } = patterns;
  const tool = compileToolPattern(toolPattern, coversBelow(decision));
  return tools.filter(({ serviceId, toolId }) => testSegment(service, serviceId) && testTool(tool, toolId));
}

/** Empty for a rule that decides at least one of the tools it matches. `id` null: for patterns without a rule. */
export function describeReach(
  rule: Patterns & { id: string | null; roleId?: string | null | undefined },
  matched: readonly KnownTool[],
  directory: PolicyDirectory,
): string[] {
  const path = `${rule.servicePattern}.${rule.toolPattern}`;
  if (matched.length === 0) return [`${path} matches no tool that is installed now.`];
  if (rule.id === null) return [];
  const roleId = rule.roleId ?? undefined;
  const decides = matched.some((tool) => directory.decide({ ...tool, roleId }).policyId === rule.id);
  return decides
    ? []
    : [`Earlier rules decide every tool that ${path} matches. Change the order: PUT /policies/order.`];
}
