/**
 * Compiles roles into visibility tests. Deny takes precedence and also covers tools nested below the ones it names;
 * an empty allow list allows nothing.
 */
import { compilePathPattern, createToolIndex, listNamed, testTool } from "./tool-patterns.ts";

export interface Visibility {
  sees(serviceId: string, toolId: string): boolean;
}

export function compileRole(role: { allow: readonly string[]; deny: readonly string[] }): Visibility {
  const isAllowed = compilePatterns(role.allow, false);
  const isDenied = compilePatterns(role.deny, true);
  return { sees: (serviceId, toolId) => !isDenied(serviceId, toolId) && isAllowed(serviceId, toolId) };
}

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
