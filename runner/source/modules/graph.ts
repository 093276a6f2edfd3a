/**
 * The files a script imports, found and read by their names in the workspace, each made linkable; everything about them is
 * bounded. Nothing here opens a file: `readModule` of the caller answers the texts.
 */
import { hash } from "node:crypto";
import type { Position } from "../draft.ts";
import { type Refused, refuse } from "../errors.ts";
import { placeIn } from "../excerpt.ts";
import { parseProgram } from "../program.ts";
import { createGate } from "../transpile-alone.ts";
import { prepareFile } from "./file.ts";
import type { LinkedModule, Target } from "./link.ts";
import type { Import, Linkable } from "./linkable.ts";
import { INSTEAD, kindOf, quote, readSpecifier, type SourceKind } from "./names.ts";

/** The text of a workspace file; null: there is none. It may refuse more than `maxBytes` by throwing an Error. */
export type ReadModule = (name: string, maxBytes: number) => Promise<string | null>;

const MAX_MODULES = 1000;
/** Of all imported files together, in UTF-8. */
const MAX_TOTAL_BYTES = 1024 * 1024;
/** Names that are asked for: one import may mean several. */
const MAX_LOOKUPS = 20_000;
const MAX_STARS = 1000;
/** Steps of finding exported names through modules that pass on those of others. */
const MAX_EXPORT_STEPS = 2_000_000;
/** Files that are read at a time. */
const MAX_READS = 16;

interface Node {
  name: string;
  kind: SourceKind;
  text: string;
  linkable: Linkable | null;
  /** Names a JSON file exports. */
  keys: ReadonlySet<string>;
  targets: (Target | null)[];
}

export interface Graph {
  modules: LinkedModule[];
  /** Of everything that was read, under its names. */
  digest: string;
}

/** Stops reading; becomes an error at the import that asked for too much. */
class TooMuch extends Error {}

/** `readModule` null: the script came without other files. */
export async function readGraph(
  entry: Linkable,
  entryName: string,
  readModule: ReadModule | null,
): Promise<Graph | Refused> {
  const nodes: Node[] = [
    { name: entryName, kind: "code", text: "", linkable: entry, keys: new Set(), targets: [] },
  ];
  const known = new Map([[`code ${entryName}`, 0]]);
  const read = createReader(readModule);
  const fileOf = ({ name }: Node) => (name === entryName ? undefined : name);
  let stars = 0;
  for (let level = nodes.slice(); level.length > 0; ) {
    const added: Node[] = [];
    const found = await Promise.all(level.map((node) => findTargets(node, entryName, read)));
    for (const [at, node] of level.entries()) {
      stars += node.linkable?.stars.length ?? 0;
      for (const [index, target] of (found[at] as Found[]).entries()) {
        const { isDynamic, position } = (node.linkable as Linkable).imports[index] as Import;
        if (typeof target === "object" && "message" in target) {
          if (!isDynamic || target.isFinal) return refuse(target.message, position, fileOf(node));
          node.targets.push(null);
        } else if (typeof target === "string") node.targets.push(target);
        else {
          const key = `${target.kind} ${target.name}`;
          let number = known.get(key);
          if (number === undefined) {
            number = nodes.length;
            if (number > MAX_MODULES || stars > MAX_STARS) {
              return refuse(
                `A script may import ${MAX_MODULES} files, and pass on the exports of ${MAX_STARS} as a whole; here are more.`,
                position,
                fileOf(node),
              );
            }
            known.set(key, number);
            const next: Node = { ...target, linkable: null, keys: new Set(), targets: [] };
            nodes.push(next);
            added.push(next);
          }
          node.targets.push(number);
        }
      }
    }
    const results = await Promise.all(added.map(prepareNode));
    const refused = results.find((result) => result !== null);
    if (refused !== undefined) return refused;
    level = added;
  }
  return checkNames(nodes, fileOf) ?? { modules: nodes.map(describe), digest: digestOf(nodes) };
}

type Found =
  | string
  | { name: string; kind: SourceKind; text: string }
  | { message: string; isFinal?: boolean };
type Reader = (name: string) => Promise<string | null>;

/** Reads each file once, and not more than is allowed. */
function createReader(readModule: ReadModule | null): Reader {
  const texts = new Map<string, Promise<string | null>>();
  const enter = createGate(MAX_READS);
  let bytes = 0;
  return (name) => {
    const known = texts.get(name);
    if (known !== undefined) return known;
    if (texts.size >= MAX_LOOKUPS)
      throw new TooMuch("The imports of this script mean too many different names.");
    const reading = enter(async () => {
      if (bytes > MAX_TOTAL_BYTES || readModule === null) return null;
      const text = await readModule(name, MAX_TOTAL_BYTES - bytes);
      bytes += text === null ? 0 : Buffer.byteLength(text);
      if (bytes > MAX_TOTAL_BYTES) {
        throw new TooMuch(
          `The files that a script imports have at most ${MAX_TOTAL_BYTES / 1024} KiB together; with ${quote(name)} they have more. Read large data with node:fs or cyrnel.files instead.`,
        );
      }
      return text;
    });
    // A reading that nothing waits for any more must not end the process.
    reading.catch(() => {});
    texts.set(name, reading);
    return reading;
  };
}

async function findTargets({ name, linkable }: Node, entryName: string, read: Reader): Promise<Found[]> {
  const found: Found[] = [];
  for (const site of linkable?.imports ?? []) {
    try {
      found.push(await findTarget(site, name, entryName, read));
    } catch (error) {
      if (!(error instanceof TooMuch)) throw error;
      found.push({ message: error.message, isFinal: true });
    }
  }
  return found;
}

async function findTarget(site: Import, from: string, entryName: string, read: Reader): Promise<Found> {
  const meant = readSpecifier(site.specifier, from);
  if (meant.is === "refused") return meant;
  if (meant.is === "builtin") return meant.name;
  for (const name of meant.paths) {
    const text = name === entryName && site.type === null ? "" : await read(name);
    if (text === null) continue;
    const kind = kindOf(name, site.type);
    if (kind === null)
      return { message: `An import of type ${quote(site.type ?? "")} is not known: "json" and "text" are.` };
    return { name, kind, text };
  }
  const looked = meant.paths.slice(0, 3).join(", ");
  return {
    message: `${quote(site.specifier)} is not among the files of this run (looked for ${looked}${meant.paths.length > 3 ? ", …" : ""}). ${INSTEAD}`,
  };
}

async function prepareNode(node: Node): Promise<Refused | null> {
  if (node.kind === "text") return null;
  if (node.kind === "json") return readJson(node);
  const result = await prepareFile(node.name, node.text);
  if ("error" in result) return { ok: false, error: { ...result.error, file: node.name } };
  node.linkable = result;
  return null;
}

function readJson(node: Node): Refused | null {
  try {
    const value: unknown = JSON.parse(node.text.replace(/^\uFEFF/, ""));
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      node.keys = new Set(Object.keys(value));
    return null;
  } catch (error) {
    const [message] = (error as Error).message.split(/ in JSON at position|, "/) as [string];
    return refuse(`No JSON: ${message.slice(0, 200)}.`, findJsonError(node.text), node.name);
  }
}

/** The engine does not always tell: where it stops being JavaScript, if it does. */
function findJsonError(text: string): Position {
  try {
    parseProgram(`(${text}\n)`, { ecmaVersion: "latest" });
  } catch (error) {
    const { pos } = error as { pos?: number };
    if (typeof pos === "number") return placeIn({ text, firstLine: 0 }, Math.min(pos - 1, text.length));
  }
  return { line: 1, column: 1 };
}

/** Each name that a module imports and uses must be exported; one that is not used may be that of a type. */
function checkNames(nodes: readonly Node[], fileOf: (node: Node) => string | undefined): Refused | null {
  let steps = 0;
  const has = (index: number, name: string, seen: Set<number>): boolean => {
    steps++;
    if (seen.has(index)) return false;
    seen.add(index);
    const { kind, keys, linkable, targets } = nodes[index] as Node;
    if (kind !== "code" || linkable === null) return name === "default" || keys.has(name);
    if (linkable.exports.has(name)) return true;
    if (name === "default") return false;
    return linkable.stars.some((star) => {
      const target = targets[star];
      return typeof target === "number" ? has(target, name, seen) : true;
    });
  };
  for (const node of nodes) {
    for (const [index, { names, position, specifier }] of node.linkable?.imports.entries() ?? []) {
      const target = node.targets[index];
      if (typeof target !== "number") continue;
      const missing = names.find((name) => !has(target, name, new Set()));
      if (steps > MAX_EXPORT_STEPS)
        return refuse("The files pass on each other's exports too often.", position, fileOf(node));
      if (missing === undefined) continue;
      const { name } = nodes[target] as Node;
      const message =
        missing === "default"
          ? `${name} has no default export: import what it exports by name, as in import { x } from ${quote(specifier)}.`
          : `${name} has no export named ${quote(missing)}.`;
      return refuse(message, position, fileOf(node));
    }
  }
  return null;
}

function describe({ name, kind, text, linkable, targets }: Node): LinkedModule {
  return {
    name,
    targets,
    imports: linkable?.imports ?? [],
    stars: linkable?.stars ?? [],
    code: linkable,
    data: kind === "code" ? null : { text: text.replace(/^\uFEFF/, ""), isJson: kind === "json" },
  };
}

function digestOf(nodes: readonly Node[]): string {
  const parts = nodes.map(({ name, kind, text, targets }) => [name, kind, hash("sha256", text), targets]);
  return hash("sha256", JSON.stringify(parts), "base64");
}
