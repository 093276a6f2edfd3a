/**
 * Roles compiled: whether a role may see a tool. Deny wins, and covers what lies below what it names; an empty allow list
 * allows nothing.
 */
import { compilePathPattern, createToolIndex, listNamed, testTool } from "./tool-patterns.ts";

export interface Visibility {
  sees(serviceId: string, toolId: string): boolean;
}

/** Patterns that `findPatternProblem` has no problem with. */
export function compileRole(role: { allow: readonly string[]; deny: readonly string[] }): Visibility {
  const isAllowed = compilePatterns(role.allow, false);
  const isDenied = compilePatterns(role.deny, true);
  return { sees: (serviceId, toolId) => !isDenied(serviceId, toolId) && isAllowed(serviceId, toolId) };
}

/** Whether any of the patterns matches a tool. */
function compilePatterns(
  patterns: readonly string[],
  below: boolean,
): (serviceId: string, toolId: string) => boolean {
  const tests = patterns.flatMap((pattern) => compilePathPattern(pattern, below));
  const entries = tests.map((test) => ({ test, value: null }));
  const index = createToolIndex(entries);
  return (serviceId, toolId) => {
    const own = index(serviceId);
    return [...listNamed(own, toolId), own.general].some((list) =>
      list.some(({ tool }) => testTool(tool, toolId)),
    );
  };
}
