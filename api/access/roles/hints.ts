/** What is worth telling about patterns that no installed tool matches. They are kept: the service may come later. */
import { compilePathPattern, testSegment, testTool } from "../tool-patterns.ts";

const MAX_HINTS = 20;

export interface ToolPath {
  serviceId: string;
  toolId: string;
}

/** One sentence per pattern that matches nothing, MAX_HINTS at most. */
export function hintPatterns(
  { allow, deny }: { allow: readonly string[]; deny: readonly string[] },
  tools: readonly ToolPath[],
): string[] {
  const hints = new Set<string>();
  for (const [patterns, below] of [
    [allow, false],
    [deny, true],
  ] as const) {
    for (const pattern of patterns) {
      const hint = hints.size < MAX_HINTS ? hintPattern(pattern, below, tools) : null;
      if (hint !== null) hints.add(hint);
    }
  }
  return [...hints];
}

function hintPattern(pattern: string, below: boolean, tools: readonly ToolPath[]): string | null {
  const tests = compilePathPattern(pattern, below);
  if (tests.length === 0) {
    const fix = pattern.includes(".") ? "" : ` Did you mean ${pattern}.*?`;
    return `${pattern} can match no tool: a path is service.tool.${fix}`;
  }
  const isMatched = tools.some(({ serviceId, toolId }) =>
    tests.some(({ service, tool }) => testSegment(service, serviceId) && testTool(tool, toolId)),
  );
  return isMatched ? null : `${pattern} matches no tool that is installed now.`;
}
