/**
 * Small edits of source map `mappings`, which is text: one `;` per generated line, segments of base64 numbers, each
 * relative to the one before.
 */
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";

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
export function insertLines(mappings: string, line: number, count: number): string {
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
  const map = new TraceMap({ version: 3, names: [], sources: ["script.ts"], mappings });
  const { line, column } = originalPositionFor(map, generated);
  return line === null || column === null || line < 1 ? undefined : { line, column: column + 1 };
}
