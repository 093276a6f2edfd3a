import type {
  ImportAttribute,
  ImportExpression,
  Literal,
  ModuleDeclaration,
  Program,
  Statement,
} from "acorn";
import { blank } from "../draft.ts";
import { visit } from "../program.ts";
import { readSpecifier } from "./names.ts";

export const MAX_IMPORTS = 2000;
export const TOO_MANY_IMPORTS = `A script and its files may contain at most ${MAX_IMPORTS} imports in total; these have more.`;

export interface ImportSite {
  specifier: string;
  type: string | null;
  isDynamic: boolean;
  start: number;
}

export function readStaticSite(statement: Statement | ModuleDeclaration): ImportSite | null {
  if (!("source" in statement) || !statement.source) return null;
  const { source, attributes, start } = statement;
  return { specifier: String(source.value), type: readType(attributes), isDynamic: false, start };
}

function readType(attributes: readonly ImportAttribute[] | undefined): string | null {
  const found = attributes?.find(({ key }) => (key.type === "Identifier" ? key.name : key.value) === "type");
  return found === undefined ? null : String(found.value.value);
}

/** Lists `import()` calls with a literal file or built-in module; other calls fail when they are made. */
export function listDynamicSites(program: Program, code: string): ImportSite[] {
  if (!IMPORT_CALL.test(code)) return [];
  const sites: ImportSite[] = [];
  visit(program, (node) => {
    if (node.type !== "ImportExpression") return;
    const specifier = readLiteral(node.source);
    // Resolved from a deep folder, because a later step checks whether the path leaves the workspace.
    if (specifier === null || readSpecifier(specifier, DEEP).is === "refused") return;
    sites.push({ specifier, type: readOptions(node), isDynamic: true, start: node.start });
  });
  return sites;
}
const IMPORT_CALL = /\bimport\b/;
const DEEP = "a/".repeat(100);

function readLiteral(node: ImportExpression["source"]): string | null {
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  if (node.type === "TemplateLiteral" && node.expressions.length === 0)
    return node.quasis[0]?.value.cooked ?? null;
  return null;
}

function readOptions({ options }: ImportExpression): string | null {
  if (options?.type !== "ObjectExpression") return null;
  for (const property of options.properties) {
    if (property.type !== "Property" || property.value.type !== "ObjectExpression") continue;
    for (const inner of property.value.properties) {
      if (inner.type !== "Property" || inner.value.type !== "Literal") continue;
      const { key } = inner;
      if ((key.type === "Identifier" ? key.name : (key as Literal).value) === "type")
        return String(inner.value.value);
    }
  }
  return null;
}

export interface HoistedImport {
  start: number;
  /** Null for a type-only import. */
  statement: string | null;
  /** Replaces the statement in the text, padded with spaces. */
  marker: string;
}

/**
 * Removes static imports from a function body, where they are not allowed. A line that looks like an import may be in
 * a string or comment, so each is replaced by a marker statement, and the parsed tree shows which ones were
 * statements. `kept` contains the start positions of the others.
 */
export function hoistImports(
  text: string,
  kept: ReadonlySet<number>,
): { body: string; imports: HoistedImport[] } {
  const imports: HoistedImport[] = [];
  const parts: string[] = [];
  const prefix = freePrefix(text);
  let at = 0;
  START.lastIndex = 0;
  let quoteAt = -1;
  let tries = 0;
  for (let found = START.exec(text); found !== null; found = START.exec(text)) {
    const start = found.index + found[0].length - "import".length;
    const from = found.index + found[0].length;
    // Limits the search if many imports never reach a quote.
    if (quoteAt < from) {
      quoteAt = findNext(text, /["'=();]/g, from);
      tries = 0;
    }
    if (++tries > MAX_TRIES) continue;
    const end = kept.has(start) ? null : findEnd(text, from, quoteAt);
    if (end === null) continue;
    const clause = text.slice(from, quoteAt).replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, " ");
    if (!/^(?:\s*|[\s\w$,{}*\u0080-\uffff]*\bfrom\s*)$/.test(clause)) continue;
    const isType = /^\s+type\s+(?!from\s*$|,)/.test(clause);
    const marker = `${prefix}${imports.length};`;
    if (marker.length > end - start) continue;
    const statement = `import${clause}${text.slice(quoteAt, end)}`.replace(/\s+/g, " ").replace(/;?$/, ";");
    imports.push({ start, statement: isType ? null : statement, marker });
    parts.push(text.slice(at, start), marker, blank(text.slice(start + marker.length, end)));
    at = end;
    START.lastIndex = text[end - 1] === ";" ? end - 1 : end;
  }
  return { body: parts.join("") + text.slice(at), imports };
}
const START = /(?:^|[;}])[ \t]*import\b(?![ \t]*[(.:=])/gm;

function findNext(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}

/** Returns the end of the statement, attributes and semicolon included, or null if it is not an import. */
function findEnd(text: string, from: number, quoteAt: number): number | null {
  const quote = text[quoteAt];
  if ((quote !== '"' && quote !== "'") || quoteAt - from > MAX_CLAUSE_CHARS) return null;
  const close = findNext(text, /['"\n]/g, quoteAt + 1);
  if (text[close] !== quote) return null;
  REST.lastIndex = close + 1;
  REST.exec(text);
  return REST.lastIndex;
}
const MAX_CLAUSE_CHARS = 20_000;
/** Several words `import`, some in comments, may precede one specifier. */
const MAX_TRIES = 20;
const REST = /(?:\s*\bwith\s*\{[^{}]*\})?(?:[ \t]*;)?/y;

/**
 * Returns a prefix that the text does not contain. Short, because a marker must not be longer than the shortest
 * import.
 */
function freePrefix(text: string): string {
  for (let number = 0; ; number++) {
    const prefix = `$${number.toString(36)}_`;
    if (!text.includes(prefix)) return prefix;
  }
}

export function findMarkers(statements: readonly Statement[]): Map<string, Statement> {
  const found = new Map<string, Statement>();
  for (const statement of statements) {
    if (statement.type !== "ExpressionStatement" || statement.expression.type !== "Identifier") continue;
    found.set(`${statement.expression.name};`, statement);
  }
  return found;
}
