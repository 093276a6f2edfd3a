/**
 * Generated code under edit, with its source map: replacements that keep every column where it is, and whole lines that
 * are put in between. `mappings` is text: one `;` per generated line, segments of base64 numbers, each relative to the one
 * before.
 */
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";

export interface Draft {
  readonly code: string;
  readonly mappings: string;
}

/** `text` stands in place of what is from `start` to `end`, with spaces after it. */
export interface Replacement {
  start: number;
  end: number;
  text?: string;
}

/**
 * Replaces texts that do not overlap by texts of the same length, so that nothing moves. Line breaks in what is replaced stay.
 * At once, however many they are: each edit of a draft makes its code anew.
 */
export function overwrite(draft: Draft, replacements: readonly Replacement[]): Draft {
  if (replacements.length === 0) return draft;
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, text = "" } of replacements.toSorted((a, b) => a.start - b.start)) {
    parts.push(draft.code.slice(at, start), text, blank(draft.code.slice(start + text.length, end)));
    at = end;
  }
  return { ...draft, code: parts.join("") + draft.code.slice(at) };
}

/** As many spaces, and the line breaks. */
export function blank(text: string): string {
  return text.replace(/[^\n]/g, " ");
}

/** Puts a line before the line that holds `index`. */
export function insertLineBefore(draft: Draft, index: number, text: string): Draft {
  const start = draft.code.lastIndexOf("\n", index - 1) + 1;
  const line = draft.code.slice(0, start).split("\n").length - 1;
  return {
    code: `${draft.code.slice(0, start)}${text}\n${draft.code.slice(start)}`,
    mappings: insertLines(draft.mappings, line, 1),
  };
}

/** Puts text at a place after which nothing on the line has a position worth keeping. */
export function insertAtLineEnd(draft: Draft, index: number, text: string): Draft {
  return { ...draft, code: draft.code.slice(0, index) + text + draft.code.slice(index) };
}

/** 1-based, as people count. */
export interface Position {
  line: number;
  column: number;
}

const MINUS_ONE = "D";
const ZERO = "A";
const CONTINUES = /[g-z0-9+/]/;

/** Moves every source line up by one. The first segment must be on source line 0, as that of a wrapper is. */
export function moveUpOneLine(mappings: string): string {
  const start = mappings.search(/[^;,]/);
  if (start === -1) return mappings;
  let index = start;
  for (let number = 0; number < 2; number++) {
    while (CONTINUES.test(mappings[index] ?? "")) index++;
    index++;
  }
  if (mappings[index] !== ZERO) throw new Error("expected the first mapping on the first source line");
  return mappings.slice(0, index) + MINUS_ONE + mappings.slice(index + 1);
}

/** Makes room for `count` new generated lines before the 0-based `line`. */
function insertLines(mappings: string, line: number, count: number): string {
  let index = 0;
  for (let passed = 0; passed < line; passed++) {
    const next = mappings.indexOf(";", index);
    if (next === -1) return mappings;
    index = next + 1;
  }
  return mappings.slice(0, index) + ";".repeat(count) + mappings.slice(index);
}

/** The submitted position of a place in generated code: `line` 1-based, `column` 0-based as parsers count. */
export function findSource(mappings: string, generated: Position): Position | undefined {
  return createFinder(mappings)(generated);
}

/** The same for many places: the mappings are decoded once. */
export function createFinder(mappings: string): (generated: Position) => Position | undefined {
  const map = new TraceMap({ version: 3, names: [], sources: ["script.ts"], mappings });
  return (generated) => {
    const { line, column } = originalPositionFor(map, generated);
    return line === null || column === null || line < 1 ? undefined : { line, column: column + 1 };
  };
}
