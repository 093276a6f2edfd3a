/** A source as it stands in the submitted text. */
import type { Position } from "./draft.ts";

/** A source cut out of the submitted text: `firstLine` is the 0-based line it starts at. */
export interface Excerpt {
  text: string;
  firstLine: number;
}

/** The line before the source holds the wrapper: in a fenced block the fence's own, else an extra one. */
export function wrap({ text, firstLine }: Excerpt, start: string, end: string): string {
  return `${"\n".repeat(Math.max(0, firstLine - 1))}${start}\n${text}${end}`;
}

/** Where an index of the excerpt is in the submitted text. */
export function placeIn({ text, firstLine }: Excerpt, index: number): Position {
  const before = text.slice(0, index).split("\n");
  return { line: firstLine + before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** The place after an excerpt. */
export function endOf({ text, firstLine }: Excerpt): Position {
  const lines = text.split("\n");
  return { line: firstLine + lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
