import { decodedMappings, encodedMappings, TraceMap } from "@jridgewell/trace-mapping";
import { LINKER } from "../../wire/realm-constants.ts";
import { type Refused, sourceError } from "../errors.ts";
import { checkNames } from "./export-names.ts";
import { readJson } from "./json.ts";
import { type Linkable, MODULE_PARAMETERS, type Node } from "./linkable.ts";

export type LinkedSource = { ok: true; code: string; mappings: string; sources: string[] } | Refused;

const MAX_LINKED_CHARS = 8 * 1024 * 1024;

export function linkGraph(nodes: readonly Node[]): LinkedSource {
  const fileOf = (node: Node) => (node === nodes[0] ? undefined : node.name);
  const keys = new Map<Node, Set<string>>();
  for (const node of nodes) {
    if (node.kind !== "json") continue;
    const read = readJson(node.text);
    if ("error" in read) return { ok: false, error: { ...read.error, file: node.name } };
    keys.set(node, read.keys);
  }
  const refused = checkNames(nodes, keys, fileOf);
  if (refused !== null) return refused;
  const linked = link(nodes);
  if (linked.code.length <= MAX_LINKED_CHARS) return { ok: true, ...linked };
  const message = `The script and what it imports become more than ${MAX_LINKED_CHARS / 1024 / 1024} MB of JavaScript.`;
  return sourceError(message, { line: 1, column: 1 });
}

type Segment = [column: number] | [column: number, source: number, line: number, sourceColumn: number];

const START = `((modules)=>(module)=>module("${LINKER}")(modules))([`;
const END = "])";

function link(nodes: readonly Node[]): {
  code: string;
  mappings: string;
  sources: string[];
} {
  const parts = [START];
  const lines: Segment[][] = [[]];
  const sources: string[] = [];
  for (const { name, kind, text, linkable, targets } of nodes) {
    if (linkable === null) {
      parts.push(`{${kind}:${JSON.stringify(text.replace(/^\uFEFF/, ""))}},`);
      lines.push([]);
      continue;
    }
    const source = sources.push(name) - 1;
    parts.push(
      `{${describe(name, targets, linkable)},run:(${MODULE_PARAMETERS.join(",")})=>{`,
      linkable.code,
      "}},",
    );
    const decoded = decode(linkable.mappings);
    const count = countLines(linkable.code);
    lines.push([]);
    for (let line = 0; line < count; line++)
      lines.push(moveTo(source, linkable.linesBefore, decoded[line] ?? []));
    lines.push([]);
  }
  parts.push(END);
  const map = new TraceMap({ version: 3, names: [], sources, mappings: lines as never });
  return { code: parts.join("\n"), mappings: encodedMappings(map), sources };
}

function describe(
  name: string,
  targets: Node["targets"],
  { imports, stars }: Pick<Linkable, "imports" | "stars">,
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
