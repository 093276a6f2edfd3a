/**
 * Removes type-only statements: TypeScript drops them anyway, and as imports they would turn a body with `return`
 * into a module.
 */
import { blank } from "./draft.ts";

const START = /^[ \t]*import\s+type\b/gm;

/** Takes linear time: a text may start many statements that never end. */
export function withoutTypeImports(text: string): string {
  const parts: string[] = [];
  let at = 0;
  let specifier: Specifier | null = null;
  for (const { index, 0: start } of text.matchAll(START)) {
    const from = index + start.length;
    if (index < at) continue;
    if (specifier === null || specifier.start < from) specifier = findSpecifier(text, from);
    if (specifier.end === null) continue;
    parts.push(text.slice(at, index), blank(text.slice(index, specifier.end)));
    at = specifier.end;
  }
  return parts.join("") + text.slice(at);
}

interface Specifier {
  start: number;
  end: number | null;
}

function findSpecifier(text: string, from: number): Specifier {
  const start = find(text, /[;'"]/g, from);
  const quote = text[start];
  if (quote === undefined || quote === ";") return { start, end: null };
  const close = find(text, /['"\n]/g, start + 1);
  if (text[close] !== quote) return { start, end: null };
  const after = find(text, /[^ \t]/g, close + 1);
  return { start, end: text[after] === ";" ? after + 1 : after };
}

function find(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}

/**
 * Removes the type-only statement at `column` of `line` (both 0-based: where transpiling a body failed): `declare
 * namespace`, `declare module`, `export type`, `export interface`, `export declare`, `export {}`. Looks only there,
 * because strings elsewhere may contain the same words. Returns the text unchanged if there is no such statement.
 */
export function withoutTypeStatement(text: string, line: number, column: number): string {
  let start = 0;
  for (let count = 0; count < line; count += 1) {
    const end = text.indexOf("\n", start);
    if (end === -1) return text;
    start = end + 1;
  }
  const at = start + column;
  const declared = DECLARE_BLOCK.exec(text.slice(start, at));
  if (declared !== null) {
    const open = text.indexOf("{", at);
    const close = open === -1 ? -1 : findClosing(text, open);
    return close === -1 ? text : blankBetween(text, start + declared.index, close + 1);
  }
  for (const statement of [EXPORT_NOTHING, EXPORT_TYPE_LIST, EXPORT_BEFORE_TYPE]) {
    statement.lastIndex = at;
    const found = statement.exec(text);
    if (found !== null) return blankBetween(text, at, at + found[0].length);
  }
  return text;
}

const DECLARE_BLOCK = /\bdeclare\s+(?:namespace|module)\s+$/;
const EXPORT_NOTHING = /export\s*\{\s*\}[ \t]*;?/y;
const EXPORT_TYPE_LIST = /export\s+type\s*(?:\{[^{}]*\}|\*)(?:\s*from\s*(?:"[^"\n]*"|'[^'\n]*'))?[ \t]*;?/y;
const EXPORT_BEFORE_TYPE = /export(?=\s+(?:type|interface|declare)\b)/y;

function blankBetween(text: string, start: number, end: number): string {
  return text.slice(0, start) + blank(text.slice(start, end)) + text.slice(end);
}

function findClosing(text: string, open: number): number {
  const piece =
    /[{}]|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\[\s\S]|[^`\\])*`?/g;
  piece.lastIndex = open;
  let depth = 0;
  for (let found = piece.exec(text); found !== null; found = piece.exec(text)) {
    if (found[0] === "{") depth += 1;
    else if (found[0] === "}") depth -= 1;
    if (depth === 0) return found.index;
  }
  return -1;
}
