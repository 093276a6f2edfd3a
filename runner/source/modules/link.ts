/** Linkable modules joined into one expression for the function the realm calls, with mappings of several sources. */
import { decodedMappings, encodedMappings, TraceMap } from "@jridgewell/trace-mapping";
import { type Import, type Linkable, MODULE_PARAMETERS } from "./linkable.ts";

/** A package by the digest of its bundle, and what of it is imported. */
export interface PackageTarget {
  digest: string;
  name: string;
  path: string;
}

/** What an import of a module leads to: the index of another one, the name of a built-in one, a package, or an error that says why to none. */
export type Target = number | string | PackageTarget | { refused: string };

export interface LinkedModule {
  name: string;
  /** Targets of `imports`, in this order; null: it is said when the call is made that there is none. */
  targets: (Target | null)[];
  imports: Pick<Import, "specifier" | "isDynamic" | "names" | "position">[];
  stars: number[];
  /** Null: `data` is what it exports. */
  code: Pick<Linkable, "code" | "mappings" | "linesBefore"> | null;
  data: { text: string; isJson: boolean } | null;
}

type Segment = [column: number] | [column: number, source: number, line: number, sourceColumn: number];

/** The realm's own part that takes the list (runner/child/realm/modules/link.ts). */
const LINKER = "cyrnel:link";
const START = `((modules)=>(module)=>module("${LINKER}")(modules))([`;
const END = "])";

/** `modules[0]` is the entry. `sources`: names by index of the mappings. */
export function link(modules: readonly LinkedModule[]): {
  code: string;
  mappings: string;
  sources: string[];
} {
  const parts = [START];
  const lines: Segment[][] = [[]];
  const sources: string[] = [];
  for (const { name, code, data, targets, imports, stars } of modules) {
    if (code === null) {
      const member = data?.isJson ? "json" : "text";
      parts.push(`{${member}:${JSON.stringify(data?.text ?? "")}},`);
      lines.push([]);
      continue;
    }
    const source = sources.push(name) - 1;
    parts.push(
      `{${describe(name, targets, imports, stars)},run:(${MODULE_PARAMETERS.join(",")})=>{`,
      code.code,
      "}},",
    );
    const decoded = decode(code.mappings);
    const count = countLines(code.code);
    lines.push([]);
    for (let line = 0; line < count; line++)
      lines.push(moveTo(source, code.linesBefore, decoded[line] ?? []));
    lines.push([]);
  }
  parts.push(END);
  const map = new TraceMap({ version: 3, names: [], sources, mappings: lines as never });
  return { code: parts.join("\n"), mappings: encodedMappings(map), sources };
}

/**
 * What the linker needs to know: targets by number, specifiers of calls of `import()`, names that are used of built-in modules and packages
 * and where.
 */
function describe(
  name: string,
  targets: LinkedModule["targets"],
  imports: LinkedModule["imports"],
  stars: readonly number[],
): string {
  const calls: Record<string, number> = {};
  const names: Record<number, string[]> = {};
  const places: Record<number, string> = {};
  for (const [index, { specifier, isDynamic, names: used, position }] of imports.entries()) {
    if (isDynamic && targets[index] !== null) calls[`$${specifier}`] = index;
    if (typeof targets[index] === "number" || used.length === 0) continue;
    names[index] = used;
    places[index] = `${name}:${position.line}:${position.column}`;
  }
  const statics = imports.findIndex(({ isDynamic }) => isDynamic);
  const known = { targets, statics: statics === -1 ? imports.length : statics, calls, names, places, stars };
  return JSON.stringify(known).slice(1, -1);
}

function decode(mappings: string): Segment[][] {
  const map = new TraceMap({ version: 3, names: [], sources: ["script.ts"], mappings });
  return decodedMappings(map) as unknown as Segment[][];
}

function moveTo(source: number, linesBefore: number, segments: readonly Segment[]): Segment[] {
  return segments.map(([column, , line, sourceColumn]) =>
    line === undefined || sourceColumn === undefined || line < linesBefore
      ? [column]
      : [column, source, line - linesBefore, sourceColumn],
  );
}

function countLines(code: string): number {
  let count = 1;
  for (let at = code.indexOf("\n"); at !== -1; at = code.indexOf("\n", at + 1)) count++;
  return count;
}
