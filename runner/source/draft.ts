/**
 * Edits generated code together with its source map: replacements keep every column, and complete lines are inserted.
 * `mappings` is text: one `;` per generated line, with segments of base64 numbers relative to the previous one.
 */
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";

export interface Draft {
  readonly code: string;
  readonly mappings: string;
}

/** `text` is padded with spaces. */
export interface Replacement {
  start: number;
  end: number;
  text?: string;
}

/**
 * Replaces texts with texts of the same length, and keeps line breaks. Makes all edits at once, because each one
 * copies the code.
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

export function blank(text: string): string {
  return text.replace(/[^\n]/g, " ");
}

export function insertLineBefore(draft: Draft, index: number, text: string): Draft {
  const start = draft.code.lastIndexOf("\n", index - 1) + 1;
  const line = draft.code.slice(0, start).split("\n").length - 1;
  return {
    code: `${draft.code.slice(0, start)}${text}\n${draft.code.slice(start)}`,
    mappings: insertLines(draft.mappings, line, 1),
  };
}

/** Positions after `index` on its line may be lost. */
export function insertAtLineEnd(draft: Draft, index: number, text: string): Draft {
  return { ...draft, code: draft.code.slice(0, index) + text + draft.code.slice(index) };
}

export interface Position {
  line: number;
  column: number;
}

const MINUS_ONE = "D";
const ZERO = "A";
const CONTINUES = /[g-z0-9+/]/;

/** Moves every source line up by one. The first segment must be on source line 0, like that of a wrapper. */
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

function insertLines(mappings: string, line: number, count: number): string {
  let index = 0;
  for (let passed = 0; passed < line; passed++) {
    const next = mappings.indexOf(";", index);
    if (next === -1) return mappings;
    index = next + 1;
  }
  return mappings.slice(0, index) + ";".repeat(count) + mappings.slice(index);
}

/** `line` is 1-based, `column` 0-based. */
export function findSource(mappings: string, generated: Position): Position | undefined {
  return createFinder(mappings)(generated);
}

/** Decodes the mappings once for many positions. */
export function createFinder(mappings: string): (generated: Position) => Position | undefined {
  const map = new TraceMap({ version: 3, names: [], sources: ["script.ts"], mappings });
  return (generated) => {
    const { line, column } = originalPositionFor(map, generated);
    return line === null || column === null || line < 1 ? undefined : { line, column: column + 1 };
  };
}
