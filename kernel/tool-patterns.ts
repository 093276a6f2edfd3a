/**
 * Patterns for tool paths such as `service.tool` or `service.group.tool`: `*` matches one segment, `**` any number of
 * segments, and one `*` inside a segment any characters. The first segment names the service, the others form the
 * tool's id.
 */

export const MAX_PATTERN_CHARACTERS = 400;
const MAX_PATTERN_SEGMENTS = 16;

export type SegmentTest =
  | { kind: "any" }
  | { kind: "literal"; text: string }
  | { kind: "affix"; prefix: string; suffix: string };

const ANY = { kind: "any" } as const;
const DEEP = "**";

/** Compiled test for a tool id of one or more segments. */
export type ToolTest =
  | { kind: "any" }
  /** With `below`, ids that start with these segments match too. */
  | { kind: "literal"; text: string; below: boolean }
  | { kind: "segments"; tests: readonly (SegmentTest | typeof DEEP)[] };

export interface PathTest {
  service: SegmentTest;
  tool: ToolTest;
}

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

/** Returns a sentence that says why a pattern is invalid, or null. */
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
  if (segment.split("*").length > 2) return "expected at most one * in a segment, or ** alone";
  return null;
}

/**
 * Compiles a valid pattern; an empty list matches no tool. With `below` it also matches tools nested below those it
 * names, because a longer path must not evade a pattern that forbids.
 */
export function compilePathPattern(pattern: string, below = false): PathTest[] {
  const [first = "", ...rest] = pattern
    .split(".")
    .filter((one, at, all) => one !== DEEP || all[at - 1] !== DEEP);
  if (rest.length === 0) return first === DEEP ? [{ service: ANY, tool: ANY }] : [];
  if (first !== DEEP) return [{ service: compileSegment(first), tool: compileTool(rest, below) }];
  return [
    { service: ANY, tool: compileTool([DEEP, ...rest], below) },
    ...compilePathPattern(rest.join("."), below),
  ];
}

/** Compiles a pattern for the tool id alone: `*` matches any id, otherwise like `compilePathPattern`. */
export function compileToolPattern(pattern: string, below = false): ToolTest {
  return pattern === "*" ? ANY : compileTool(pattern.split("."), below);
}

function compileTool(segments: readonly string[], below: boolean): ToolTest {
  if (segments.every((segment) => segment === DEEP)) return ANY;
  if (!segments.some((segment) => segment.includes("*"))) {
    return { kind: "literal", text: segments.join("."), below };
  }
  const tests = segments.map((segment) => (segment === DEEP ? DEEP : compileSegment(segment)));
  return { kind: "segments", tests: below ? [...tests, DEEP] : tests };
}

export function testTool(test: ToolTest, toolId: string): boolean {
  switch (test.kind) {
    case "any":
      return true;
    case "literal":
      return toolId === test.text || (test.below && toolId.startsWith(`${test.text}.`));
    case "segments":
      return testSegments(test.tests, toolId.split("."));
  }
}

/** Backtracks only to the last `**`, so the number of steps is at most the product of the two lengths. */
function testSegments(tests: readonly (SegmentTest | typeof DEEP)[], segments: readonly string[]): boolean {
  let at = 0;
  let deepAt = -1;
  let retryFrom = 0;
  for (let place = 0; place < segments.length; ) {
    const test = tests[at];
    if (test === DEEP) {
      deepAt = at;
      retryFrom = place;
      at += 1;
    } else if (test !== undefined && testSegment(test, segments[place] as string)) {
      at += 1;
      place += 1;
    } else if (deepAt !== -1) {
      at = deepAt + 1;
      retryFrom += 1;
      place = retryFrom;
    } else return false;
  }
  while (tests[at] === DEEP) at += 1;
  return at === tests.length;
}

/** Compiles a name, `*`, `**`, or a name that contains one `*`. */
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
  place: number;
  tool: ToolTest;
  value: T;
}
export interface ServiceEntries<T> {
  named: ReadonlyMap<string, readonly PlacedEntry<T>[]>;
  general: readonly PlacedEntry<T>[];
}

/** Returns the entries that may match the id, in order. The caller must still test each. */
export function listNamed<T>(
  { named }: ServiceEntries<T>,
  toolId: string,
): readonly (readonly PlacedEntry<T>[])[] {
  const found: (readonly PlacedEntry<T>[])[] = [];
  for (let end = toolId.indexOf("."); end !== -1; end = toolId.indexOf(".", end + 1)) {
    found.push(named.get(toolId.slice(0, end)) ?? []);
  }
  return [...found, named.get(toolId) ?? []];
}

/**
 * Maximum number of services whose entries stay sorted in memory. It is limited because hostile scripts choose the
 * ids.
 */
const MAX_INDEXED_SERVICES = 1000;

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

/** Returns a path for display. A `fetch` request that no rule allows has an empty tool id. */
export function pathOf({ serviceId, toolId }: { serviceId: string; toolId: string }): string {
  return toolId === "" ? serviceId : `${serviceId}.${toolId}`;
}
