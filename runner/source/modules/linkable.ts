/**
 * Makes a transpiled module linkable: statements that call `\u0131define` with the module's body, in which each
 * imported name is a member of the module it comes from.
 */
import type { AnyNode, ModuleDeclaration, Pattern, Program, Statement } from "acorn";
import {
  createFinder,
  type Draft,
  insertLineBefore,
  overwrite,
  type Position,
  type Replacement,
} from "../draft.ts";
import { callIfFunction, callLoneExport, defaultName, finishModule, replaceExport } from "../module-body.ts";
import { replaceImportCalls, visit } from "../program.ts";
import { type Transpiled, transpile } from "../transpile.ts";
import {
  type ImportSite,
  listDynamicSites,
  MAX_IMPORTS,
  readStaticSite,
  TOO_MANY_IMPORTS,
} from "./imports.ts";
import type { SourceKind } from "./names.ts";

export interface Import extends Omit<ImportSite, "start"> {
  position: Position;
  /** Names that are used, not only re-exported. Each must exist. */
  names: string[];
}

export interface Linkable {
  code: string;
  mappings: string;
  imports: Import[];
  exports: ReadonlySet<string>;
  /** Indices of the imports in `export * from`. */
  stars: number[];
  /** Number of generated lines before the submitted ones, which belong to no file. */
  linesBefore: number;
}

export interface PackageTarget {
  digest: string;
  name: string;
  path: string;
}

/** Index of another file, name of a built-in module, a package, or an error. */
export type Target = number | string | PackageTarget | { refused: string };

export interface Node {
  name: string;
  kind: SourceKind;
  text: string;
  linkable: Linkable | null;
  /** One per import, in order. Null if the `import()` call itself reports the missing module. */
  targets: (Target | null)[];
}

/** No script uses these names: they contain a dotless i, like those in runner/wire/realm-constants.ts. */
const DEFINE = "\u0131define";
const NAMESPACE = "\u0131namespace";
const EXPORTS = "\u0131exports";
const TURN = "\u0131turn";
const LOCAL = "\u0131from";
export const MODULE_PARAMETERS = ["require", NAMESPACE, DEFINE, "\u0131mport"];
/** Prefixes names, because esbuild treats `default` differently. */
const NAME_PREFIX = "$";

interface LinkableOptions {
  /** True if the module's default export is called or returned. */
  isEntry: boolean;
  /** Statements whose value is the result, if they are not the module's own; see HoistedImport. */
  body?: {
    statements: Statement[];
    end: number;
    markers: Statement[];
    positions: Position[];
    linesBefore: number;
  };
}

type Refusal = Extract<Transpiled, { ok: false }>;

export async function makeLinkable(
  draft: Draft,
  program: Program,
  { isEntry, body }: LinkableOptions,
): Promise<Linkable | Refusal> {
  const used = listUsedNames(program);
  const imports: Import[] = [];
  const named: string[] = [];
  const namespaces: string[] = [];
  const exported = new Map<string, string>();
  const stars: number[] = [];
  const ownDefault = defaultName(draft.code);
  const lines = lineStarts(draft.code);
  const findSource = createFinder(draft.mappings);
  const placeOf = (index: number) => {
    const { line, column } = findSource(positionOf(lines, index)) ?? { line: 1, column: 1 };
    return { line: Math.max(1, line - (body?.linesBefore ?? 0)), column };
  };

  for (const statement of program.body) {
    const site = readStaticSite(statement);
    if (site === null) {
      for (const [name, local] of listOwnExports(statement, ownDefault)) exported.set(name, local);
      continue;
    }
    const index = imports.length;
    const position = body?.positions[index] ?? placeOf(site.start);
    const taken = takeNames(statement, index);
    const members = taken.named.map(({ local, from }) => `${JSON.stringify(NAME_PREFIX + from)} as ${local}`);
    if (members.length > 0) named.push(`import{${members.join(",")}}from"${index}";`);
    if (taken.namespace !== null) namespaces.push(`const ${taken.namespace}=${NAMESPACE}(${index});`);
    for (const [name, local] of taken.exports) exported.set(name, local);
    if (taken.isStar) stars.push(index);
    const names = taken.named.filter(({ local }) => used.has(local)).map(({ from }) => from);
    imports.push({ specifier: site.specifier, type: site.type, isDynamic: false, position, names });
  }
  for (const { start, ...site } of listDynamicSites(program, draft.code)) {
    if (imports.length > MAX_IMPORTS) break;
    imports.push({ ...site, position: placeOf(start), names: [] });
  }

  if (imports.length > MAX_IMPORTS) {
    return { ok: false, message: TOO_MANY_IMPORTS, position: (imports.at(-1) as Import).position };
  }
  const meta = findMeta(program, draft.code);
  if (meta !== undefined) {
    return {
      ok: false,
      message: "import.meta is not available: a file of the workspace has no address.",
      position: placeOf(meta.start),
    };
  }
  const removed: Replacement[] = program.body
    .filter((statement) => readStaticSite(statement))
    .map(({ start, end }) => ({ start, end }));
  const own = program.body.filter((statement) => !readStaticSite(statement));
  const edits = own.flatMap((statement) => replaceExport(statement, ownDefault) ?? []);
  const markers = (body?.markers ?? []).map(({ start, end }) => ({ start, end }));
  let edited = overwrite(replaceImportCalls(draft, program), [...removed, ...edits, ...markers]);
  const ownEnd = draft.code.length;
  const local = exported.get("default");
  edited = finishModule(
    edited,
    own,
    isEntry ? (local === undefined ? callLoneExport(own) : callIfFunction(local)) : undefined,
    isEntry
      ? (body?.statements ?? (own.filter(({ type }) => !type.startsWith("Export")) as Statement[]))
      : null,
    body?.end ?? ownEnd,
  );
  const getters = [...exported].map(([name, local]) => `[${JSON.stringify(name)}]:()=>${local}`);
  const head = `${named.join("")}${namespaces.join("")}${DEFINE}(async(${EXPORTS},${TURN})=>{"use strict";${EXPORTS}({__proto__:null,${getters.join(",")}});await ${TURN};`;
  edited = insertLineBefore(edited, 0, head);
  const text = { ...edited, code: `${edited.code}\n});` };
  const rest = { imports, exports: new Set(exported.keys()), stars, linesBefore: body?.linesBefore ?? 0 };
  if (named.length === 0) return { ...text, ...rest };
  const bound = await transpile(text.code, "js", text.mappings);
  return bound.ok ? { code: bound.code, mappings: bound.mappings, ...rest } : bound;
}

interface TakenNames {
  named: { local: string; from: string }[];
  namespace: string | null;
  exports: [string, string][];
  isStar: boolean;
}

function takeNames(statement: Statement | ModuleDeclaration, index: number): TakenNames {
  const taken: TakenNames = { named: [], namespace: null, exports: [], isStar: false };
  if (statement.type === "ImportDeclaration") {
    for (const specifier of statement.specifiers) {
      const local = specifier.local.name;
      if (specifier.type === "ImportNamespaceSpecifier") taken.namespace = local;
      else if (specifier.type === "ImportDefaultSpecifier") taken.named.push({ local, from: "default" });
      else taken.named.push({ local, from: nameOf(specifier.imported) });
    }
  } else if (statement.type === "ExportNamedDeclaration") {
    for (const [count, { local, exported }] of statement.specifiers.entries()) {
      const own = `${LOCAL}${index}_${count}`;
      taken.named.push({ local: own, from: nameOf(local) });
      taken.exports.push([nameOf(exported), own]);
    }
  } else if (statement.type === "ExportAllDeclaration") {
    if (statement.exported) {
      taken.namespace = `${LOCAL}${index}`;
      taken.exports.push([nameOf(statement.exported), taken.namespace]);
    } else taken.isStar = true;
  }
  return taken;
}

function* listOwnExports(
  statement: Statement | ModuleDeclaration,
  ownDefault: string,
): Generator<[string, string]> {
  if (statement.type === "ExportDefaultDeclaration") {
    const { declaration } = statement;
    const isNamed = declaration.type === "FunctionDeclaration" || declaration.type === "ClassDeclaration";
    yield ["default", (isNamed && declaration.id?.name) || ownDefault];
  }
  if (statement.type !== "ExportNamedDeclaration") return;
  for (const { local, exported } of statement.specifiers) yield [nameOf(exported), nameOf(local)];
  const { declaration } = statement;
  if (declaration?.type === "VariableDeclaration") {
    for (const { id } of declaration.declarations) for (const name of listBound(id)) yield [name, name];
  } else if (declaration) yield [declaration.id.name, declaration.id.name];
}

function* listBound(pattern: Pattern): Generator<string> {
  if (pattern.type === "Identifier") yield pattern.name;
  else if (pattern.type === "AssignmentPattern") yield* listBound(pattern.left);
  else if (pattern.type === "RestElement") yield* listBound(pattern.argument);
  else if (pattern.type === "ArrayPattern") {
    for (const element of pattern.elements) if (element) yield* listBound(element);
  } else if (pattern.type === "ObjectPattern") {
    for (const property of pattern.properties) {
      yield* listBound(property.type === "Property" ? property.value : property);
    }
  }
}

function nameOf(node: { type: string; name?: string; value?: unknown }): string {
  return node.type === "Identifier" ? (node.name as string) : String(node.value);
}

function findMeta(program: Program, code: string): AnyNode | undefined {
  let found: AnyNode | undefined;
  if (/\bimport\s*\.\s*meta\b/.test(code)) {
    visit(program, (node) => {
      if (node.type === "MetaProperty" && node.meta.name === "import") found ??= node;
    });
  }
  return found;
}

/** Lists names used outside imports: a name that is only imported may be a type. */
function listUsedNames(program: Program): Set<string> {
  const names = new Set<string>();
  for (const statement of program.body) {
    if (statement.type === "ImportDeclaration") continue;
    visit({ ...program, body: [statement] } as Program, (node: AnyNode) => {
      if (node.type === "Identifier") names.add(node.name);
    });
  }
  return names;
}

function lineStarts(code: string): number[] {
  const starts = [0];
  for (let at = code.indexOf("\n"); at !== -1; at = code.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** Counts like source maps: lines from 1, columns from 0. */
function positionOf(starts: readonly number[], index: number): Position {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] as number) <= index) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: index - (starts[low] as number) };
}
