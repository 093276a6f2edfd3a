import type { Position } from "./draft.ts";

/** `firstLine` is the 0-based line of the submitted text where the source starts. */
export interface Excerpt {
  text: string;
  firstLine: number;
}

/** Puts the wrapper on the line before the source: the fence's line in a fenced block, else an extra one. */
export function wrap({ text, firstLine }: Excerpt, start: string, end: string): string {
  return `${"\n".repeat(Math.max(0, firstLine - 1))}${start}\n${text}${end}`;
}

export function placeIn({ text, firstLine }: Excerpt, index: number): Position {
  const before = text.slice(0, index).split("\n");
  return { line: firstLine + before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

export function endOf({ text, firstLine }: Excerpt): Position {
  const lines = text.split("\n");
  return { line: firstLine + lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
