/** What a source imports: found in its tree; and the static imports of a body, taken out of its text. */
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

/** Statements and calls of a script and its files together: each is looked up by itself. */
export const MAX_IMPORTS = 2000;
export const TOO_MANY_IMPORTS = `A script and its files may import ${MAX_IMPORTS} times in all; here is more.`;

/** One statement or call that imports. */
export interface ImportSite {
  specifier: string;
  /** Of the import's attributes. */
  type: string | null;
  isDynamic: boolean;
  /** Index in the generated code. */
  start: number;
}

/** The specifier of an import, or of an export from elsewhere. */
export function readStaticSite(statement: Statement | ModuleDeclaration): ImportSite | null {
  if (!("source" in statement) || !statement.source) return null;
  const { source, attributes, start } = statement;
  return { specifier: String(source.value), type: readType(attributes), isDynamic: false, start };
}

function readType(attributes: readonly ImportAttribute[] | undefined): string | null {
  const found = attributes?.find(({ key }) => (key.type === "Identifier" ? key.name : key.value) === "type");
  return found === undefined ? null : String(found.value.value);
}

/** Calls of `import()` with a literal that means a file or a built-in module; what others mean is said when they are made. */
export function listDynamicSites(program: Program, code: string): ImportSite[] {
  if (!IMPORT_CALL.test(code)) return [];
  const sites: ImportSite[] = [];
  visit(program, (node) => {
    if (node.type !== "ImportExpression") return;
    const specifier = readLiteral(node.source);
    // As seen from a file deep enough: whether it leads out is not decided here.
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

/** `{ with: { type: "json" } }` */
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
  /** Index in the text of where the statement starts. */
  start: number;
  /** Null: about types only. */
  statement: string | null;
  /** Stands in the text in its place, with spaces after it. */
  marker: string;
}

/**
 * Takes static imports out of the text of a body, where they cannot stand. What begins a line like one may also lie in a
 * string or a comment: so a marker, a statement of its own, takes its place, and the tree tells which of them are statements.
 * `kept`: starts of those that are none.
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
    // Nothing is looked at again for each of many that never come to a quote.
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
    // Another may follow on the same line.
    START.lastIndex = text[end - 1] === ";" ? end - 1 : end;
  }
  return { body: parts.join("") + text.slice(at), imports };
}
const START = /(?:^|[;}])[ \t]*import\b(?![ \t]*[(.:=])/gm;

function findNext(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}

/** After the specifier that starts at `quoteAt`, its attributes and a semicolon. Null: it is no import. */
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
/** Places where the import to one specifier may begin: the words before it may be those of a comment. */
const MAX_TRIES = 20;
const REST = /(?:\s*\bwith\s*\{[^{}]*\})?(?:[ \t]*;)?/y;

/** Of names the text does not have. Short: a marker stands in the place of the shortest import. */
function freePrefix(text: string): string {
  for (let number = 0; ; number++) {
    const prefix = `$${number.toString(36)}_`;
    if (!text.includes(prefix)) return prefix;
  }
}

/** Where markers stand as statements of the body: the others lie in strings and comments. */
export function findMarkers(statements: readonly Statement[]): Map<string, Statement> {
  const found = new Map<string, Statement>();
  for (const statement of statements) {
    if (statement.type !== "ExpressionStatement" || statement.expression.type !== "Identifier") continue;
    found.set(`${statement.expression.name};`, statement);
  }
  return found;
}
