/** Imports of types, which vanish anyway: they must not keep a body with `return` from being one. */
import { blank } from "./draft.ts";

const START = /^[ \t]*import\s+type\b/gm;

/**
 * Blanks each up to its specifier and a semicolon. A text may begin many that never end, so nothing is looked at for each of
 * them again.
 */
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
  /** Of the first quote or semicolon, or of the end of the text. */
  start: number;
  /** After the closing quote, and a semicolon; null: it is none. */
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

/** The length of the text if there is none. */
function find(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}
