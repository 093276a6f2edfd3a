/**
 * Patterns over tool paths `service.tool`: `*` is one segment, `**` any number of them, one `*` inside a segment any
 * characters. A path has exactly two segments, so every pattern comes down to a few pairs of tests: nothing backtracks.
 */

export const MAX_PATTERN_CHARACTERS = 400;
const MAX_PATTERN_SEGMENTS = 16;

/** A test of one segment; linear in its length. */
export type SegmentTest =
  | { kind: "any" }
  | { kind: "literal"; text: string }
  | { kind: "affix"; prefix: string; suffix: string };

/** What service and tool have to be. */
export interface PathTest {
  service: SegmentTest;
  tool: SegmentTest;
}

const ANY: SegmentTest = { kind: "any" };
const DEEP = "**";

export function testSegment(test: SegmentTest, text: string): boolean {
  switch (test.kind) {
    case "any":
      return true;
    case "literal":
      return test.text === text;
    case "affix":
      return (
        text.length >= test.prefix.length + test.suffix.length &&
        text.startsWith(test.prefix) &&
        text.endsWith(test.suffix)
      );
  }
}

/** What is wrong with a pattern, as a sentence; null when nothing is. */
export function findPatternProblem(pattern: string): string | null {
  if (pattern === "") return "expected a pattern such as service.tool, service.* or **";
  if (pattern.length > MAX_PATTERN_CHARACTERS) return `expected at most ${MAX_PATTERN_CHARACTERS} characters`;
  const segments = pattern.split(".");
  if (segments.length > MAX_PATTERN_SEGMENTS) return `expected at most ${MAX_PATTERN_SEGMENTS} segments`;
  for (const segment of segments) {
    const problem = findSegmentProblem(segment);
    if (problem !== null) return problem;
  }
  return null;
}

function findSegmentProblem(segment: string): string | null {
  if (segment === "") return "a segment is empty: expected names separated by single dots";
  if (segment === DEEP) return null;
  if (/[^A-Za-z0-9_$*]/.test(segment)) return "expected letters, digits, _, $, and * as the wildcard";
  if (segment.split("*").length > 2) return "expected one * at most in a segment, or ** alone";
  return null;
}

/** A pattern that `findPatternProblem` has no problem with. No test at all: it matches no path of two segments. */
export function compilePathPattern(pattern: string): PathTest[] {
  const segments = pattern.split(".");
  const firstDeep = segments.indexOf(DEEP);
  const named = segments.filter((segment) => segment !== DEEP);
  const [first, second] = named;
  if (named.length > 2) return [];
  if (first !== undefined && second !== undefined) {
    return [{ service: compileSegment(first), tool: compileSegment(second) }];
  }
  if (firstDeep === -1) return [];
  if (first === undefined) return [{ service: ANY, tool: ANY }];
  const test = compileSegment(first);
  const at = segments.indexOf(first);
  const tests: PathTest[] = [];
  if (segments.lastIndexOf(DEEP) > at) tests.push({ service: test, tool: ANY });
  if (firstDeep < at) tests.push({ service: ANY, tool: test });
  return tests;
}

/** One segment: a name, `*`, `**`, or a name with one `*` in it. */
export function compileSegment(segment: string): SegmentTest {
  if (segment === "*" || segment === DEEP) return ANY;
  const star = segment.indexOf("*");
  if (star === -1) return { kind: "literal", text: segment };
  return { kind: "affix", prefix: segment.slice(0, star), suffix: segment.slice(star + 1) };
}

export interface ToolEntry<T> {
  test: PathTest;
  value: T;
}
export interface PlacedEntry<T> {
  /** The place of the entry in the list the index was made of. */
  place: number;
  tool: SegmentTest;
  value: T;
}
/** What is said about the tools of one service, each list in the order of the entries. */
export interface ServiceEntries<T> {
  /** By the id of the tool they name. */
  named: ReadonlyMap<string, readonly PlacedEntry<T>[]>;
  /** Those with a wildcard. */
  general: readonly PlacedEntry<T>[];
}

/** Services whose entries are kept sorted. Ids may come from a hostile script, so their number is bounded. */
const MAX_INDEXED_SERVICES = 1000;

/** Entries by service, sorted at the first question about a service. */
export function createToolIndex<T>(
  entries: readonly ToolEntry<T>[],
): (serviceId: string) => ServiceEntries<T> {
  const services = new Map<string, ServiceEntries<T>>();
  return (serviceId) => {
    const known = services.get(serviceId);
    if (known !== undefined) return known;
    if (services.size >= MAX_INDEXED_SERVICES) services.clear();
    const sorted = sortEntries(entries, serviceId);
    services.set(serviceId, sorted);
    return sorted;
  };
}

function sortEntries<T>(entries: readonly ToolEntry<T>[], serviceId: string): ServiceEntries<T> {
  const named = new Map<string, PlacedEntry<T>[]>();
  const general: PlacedEntry<T>[] = [];
  for (const [place, { test, value }] of entries.entries()) {
    if (!testSegment(test.service, serviceId)) continue;
    const entry = { place, tool: test.tool, value };
    if (test.tool.kind !== "literal") general.push(entry);
    else {
      const same = named.get(test.tool.text);
      if (same === undefined) named.set(test.tool.text, [entry]);
      else same.push(entry);
    }
  }
  return { named, general };
}
