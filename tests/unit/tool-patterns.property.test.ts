import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileRules, type Rule } from "#api/access/policies/rules.ts";
import {
  compilePathPattern,
  compileSegment,
  createToolIndex,
  findPatternProblem,
  listNamed,
  MAX_PATTERN_CHARACTERS,
  testSegment,
  testTool,
} from "#kernel/tool-patterns.ts";
import { compileRole } from "#kernel/tool-visibility.ts";

/** The meaning of a pattern, as directly as it can be written down. */
function matchesByDefinition(pattern: string[], path: string[]): boolean {
  const [head, ...rest] = pattern;
  if (head === undefined) return path.length === 0;
  if (head === "**") {
    return (
      path.some((_, index) => matchesByDefinition(rest, path.slice(index))) || matchesByDefinition(rest, [])
    );
  }
  const [first, ...others] = path;
  return first !== undefined && segmentMatches(head, first) && matchesByDefinition(rest, others);
}

function segmentMatches(pattern: string, text: string): boolean {
  const [before = "", after] = pattern.split("*");
  if (after === undefined) return pattern === text;
  for (let length = 0; length <= text.length; length += 1) {
    for (let start = 0; start + length <= text.length; start += 1) {
      const star = text.slice(start, start + length);
      if (before + star + after === text) return true;
    }
  }
  return false;
}

const name = fc.constantFrom("a", "b", "ab", "ba", "aba", "get_a", "$", "_x");
const segment = fc.oneof(
  { weight: 4, arbitrary: name },
  { weight: 2, arbitrary: fc.constantFrom("*", "**") },
  { weight: 2, arbitrary: fc.constantFrom("a*", "*a", "a*a", "get_*", "*b", "aba*aba") },
);
const pattern = fc.array(segment, { minLength: 1, maxLength: 5 });
/** The id of a tool, of one segment or several. */
const toolId = fc.oneof(
  name,
  fc.array(name, { minLength: 2, maxLength: 4 }).map((names) => names.join(".")),
);
const pathOf = (service: string, tool: string) => [service, ...tool.split(".")];
/** Whether it matches the path, or a tool that the path lies below. */
function coversByDefinition(segments: string[], path: string[]): boolean {
  return path.some((_, index) => index > 0 && matchesByDefinition(segments, path.slice(0, index + 1)));
}

describe("patterns over tool paths", () => {
  test("a compiled pattern matches what the definition says", () => {
    fc.assert(
      fc.property(pattern, name, toolId, (segments, service, tool) => {
        const text = segments.join(".");
        expect(findPatternProblem(text)).toBeNull();
        const matches = (below: boolean) =>
          compilePathPattern(text, below).some(
            (test) => testSegment(test.service, service) && testTool(test.tool, tool),
          );
        expect(matches(false)).toBe(matchesByDefinition(segments, pathOf(service, tool)));
        expect(matches(true)).toBe(coversByDefinition(segments, pathOf(service, tool)));
      }),
      { numRuns: 5000 },
    );
  });

  test("an index finds the entries that match, each in its place", () => {
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 12 }), name, toolId, (patterns, service, tool) => {
        const entries = patterns.flatMap((segments, at) =>
          compilePathPattern(segments.join("."), at % 2 === 0).map((test) => ({ test, value: segments })),
        );
        const own = createToolIndex(entries)(service);
        const found = [...listNamed(own, tool).flat(), ...own.general]
          .filter((entry) => testTool(entry.tool, tool))
          .map(({ place }) => place);
        const expected = entries.flatMap(({ test }, place) =>
          testSegment(test.service, service) && testTool(test.tool, tool) ? [place] : [],
        );
        expect(found.sort((a, b) => a - b)).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });

  test("a role sees what an allow pattern matches, unless a deny pattern matches it or what it lies below", () => {
    fc.assert(
      fc.property(
        fc.array(pattern, { maxLength: 6 }),
        fc.array(pattern, { maxLength: 6 }),
        name,
        toolId,
        (allow, deny, service, tool) => {
          const role = compileRole({
            allow: allow.map((segments) => segments.join(".")),
            deny: deny.map((segments) => segments.join(".")),
          });
          const path = pathOf(service, tool);
          const isAllowed = allow.some((segments) => matchesByDefinition(segments, path));
          const isDenied = deny.some((segments) => coversByDefinition(segments, path));
          expect(role.sees(service, tool)).toBe(isAllowed && !isDenied);
        },
      ),
      { numRuns: 3000 },
    );
  });

  test.each([
    ["", false],
    [".", false],
    ["a.", false],
    ["a..b", false],
    ["a b", false],
    ["a.***", false],
    ["a*b*c", false],
    ["a.b-c", false],
    ["a\0b", false],
    ["ä.b", false],
    ["(a+)+$", false],
    [`${"a.".repeat(20)}a`, false],
    ["a".repeat(MAX_PATTERN_CHARACTERS + 1), false],
    ["**", true],
    ["github.*", true],
    ["github.delete_*", true],
    ["$._", true],
  ])("%j is a pattern: %s", (text, isPattern) => {
    expect(findPatternProblem(text) === null).toBe(isPattern);
  });

  test("empty allow shows nothing, deny wins over the same pattern, inherited names are names like any other", () => {
    expect(compileRole({ allow: [], deny: [] }).sees("a", "b")).toBe(false);
    expect(compileRole({ allow: ["**"], deny: ["**"] }).sees("a", "b")).toBe(false);
    expect(compileRole({ allow: ["a.b"], deny: [] }).sees("a", "constructor")).toBe(false);
    expect(compileRole({ allow: ["a.b"], deny: [] }).sees("__proto__", "toString")).toBe(false);
    expect(compileRole({ allow: ["__proto__.*"], deny: [] }).sees("__proto__", "x")).toBe(true);
  });

  test("the time of a match grows with the pattern and the name, not faster", () => {
    const hostile = compileSegment(`${"a".repeat(199)}*b`);
    const text = "a".repeat(100_000);
    const [deep] = compilePathPattern(`s.${"**.a.".repeat(7)}b`);
    const path = "a.".repeat(250);
    const startedMs = performance.now();
    for (let round = 0; round < 1000; round += 1) {
      testSegment(hostile, text);
      expect(deep && testTool(deep.tool, path)).toBe(false);
    }
    // Backtracking would take days.
    expect(performance.now() - startedMs).toBeLessThan(5000);
  });
});

const ruleOf = (fields: Partial<Rule>, index: number): Rule => ({
  id: `r${index}`,
  servicePattern: "*",
  toolPattern: "*",
  roleId: null,
  noRole: false,
  processId: null,
  decision: "ask",
  expiresAt: null,
  approvalId: null,
  replaces: null,
  keyIds: [],
  ...fields,
});
const NOW_MS = 1_000_000;
const singleSegment = fc.oneof(name, fc.constantFrom("*", "a*", "*b", "get_*"));
const rule = fc.record({
  servicePattern: singleSegment,
  toolPattern: fc.oneof(
    singleSegment,
    pattern.map((segments) => segments.join(".")),
  ),
  decision: fc.constantFrom("allow" as const, "ask" as const, "block" as const),
  roleId: fc.constantFrom(null, null, "r1", "r2"),
  processId: fc.constantFrom(null, null, null, 1, 2),
  expiresAt: fc.constantFrom(null, null, new Date(NOW_MS - 1), new Date(NOW_MS), new Date(NOW_MS + 1)),
});

describe("rules", () => {
  test("the first that matches decides, as a plain search says", () => {
    fc.assert(
      fc.property(
        fc.array(rule, { maxLength: 30 }),
        name,
        toolId,
        fc.constantFrom(undefined, "r1", "r3"),
        fc.constantFrom(undefined, 1, 3),
        (fields, serviceId, toolId, roleId, processId) => {
          const rules = fields.map(ruleOf);
          // As paths, behind a service that is matched apart.
          const covers = ({ toolPattern, decision }: Rule) =>
            toolPattern === "*" ||
            (decision === "allow" ? matchesByDefinition : coversByDefinition)(
              ["a", ...toolPattern.split(".")],
              pathOf("a", toolId),
            );
          const expected = rules.find(
            (r) =>
              segmentMatches(r.servicePattern, serviceId) &&
              covers(r) &&
              (r.roleId === null || r.roleId === roleId) &&
              (r.processId === null || r.processId === processId) &&
              (r.expiresAt === null || r.expiresAt.getTime() > NOW_MS),
          );
          const set = compileRules(rules, NOW_MS);
          const call = { serviceId, toolId, roleId, processId };
          expect(set.find(call)?.id).toBe(expected?.id);
        },
      ),
      { numRuns: 5000 },
    );
  });

  test("a set says until when it is right", () => {
    const at = (ms: number) => new Date(NOW_MS + ms);
    const rules = [{ expiresAt: at(5) }, { expiresAt: at(2) }, { expiresAt: at(-3) }, {}].map(ruleOf);
    expect(compileRules(rules, NOW_MS).validUntilMs).toBe(NOW_MS + 2);
    expect(compileRules([], NOW_MS).validUntilMs).toBe(Number.POSITIVE_INFINITY);
  });
});
