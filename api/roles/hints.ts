/** What is worth telling about patterns that no installed tool matches. They are kept: the service may come later. */
import { compilePathPattern, testSegment } from "../tool-patterns.ts";

const MAX_HINTS = 20;

export interface ToolPath {
  serviceId: string;
  toolId: string;
}

/** One sentence per pattern that matches nothing, MAX_HINTS at most. */
export function hintPatterns(patterns: readonly string[], tools: readonly ToolPath[]): string[] {
  const hints: string[] = [];
  for (const pattern of new Set(patterns)) {
    if (hints.length >= MAX_HINTS) break;
    const hint = hintPattern(pattern, tools);
    if (hint !== null) hints.push(hint);
  }
  return hints;
}

function hintPattern(pattern: string, tools: readonly ToolPath[]): string | null {
  const tests = compilePathPattern(pattern);
  if (tests.length === 0) {
    const fix = pattern.includes(".") ? "" : ` Did you mean ${pattern}.*?`;
    return `${pattern} can match no tool: a path has two segments, service.tool.${fix}`;
  }
  const isMatched = tools.some(({ serviceId, toolId }) =>
    tests.some(({ service, tool }) => testSegment(service, serviceId) && testSegment(tool, toolId)),
  );
  return isMatched ? null : `${pattern} matches no tool that is installed now.`;
}
