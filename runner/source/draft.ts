/**
 * Generated code under edit, with its mappings: replacements that keep every column where it is, and whole lines that
 * are put in between.
 */
import { insertLines } from "./mappings.ts";

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
