/** Roles compiled: whether a role may see a tool. Deny wins; an empty allow list allows nothing. */
import { compilePathPattern, createToolIndex, testSegment } from "./tool-patterns.ts";

export interface Visibility {
  sees(serviceId: string, toolId: string): boolean;
}

/** Patterns that `findPatternProblem` has no problem with. */
export function compileRole(role: { allow: readonly string[]; deny: readonly string[] }): Visibility {
  const isAllowed = compilePatterns(role.allow);
  const isDenied = compilePatterns(role.deny);
  return { sees: (serviceId, toolId) => !isDenied(serviceId, toolId) && isAllowed(serviceId, toolId) };
}

/** Whether any of the patterns matches a tool. */
function compilePatterns(patterns: readonly string[]): (serviceId: string, toolId: string) => boolean {
  const entries = patterns.flatMap(compilePathPattern).map((test) => ({ test, value: null }));
  const index = createToolIndex(entries);
  return (serviceId, toolId) => {
    const { named, general } = index(serviceId);
    return named.has(toolId) || general.some(({ tool }) => testSegment(tool, toolId));
  };
}
