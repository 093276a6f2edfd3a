/**
 * Generated code under edit, with its mappings: replacements that keep every column where it is, and whole lines that
 * are put in between.
 */
import { insertLines } from "./mappings.ts";

export interface Draft {
  readonly code: string;
  readonly mappings: string;
}

/** Replaces text by text of the same length, so that nothing moves. Line breaks in what is replaced stay. */
export function overwrite(draft: Draft, start: number, end: number, text = ""): Draft {
  const old = draft.code.slice(start + text.length, end);
  return {
    ...draft,
    code: draft.code.slice(0, start) + text + old.replace(/[^\n]/g, " ") + draft.code.slice(end),
  };
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
