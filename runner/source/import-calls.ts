/** `import()` in a script: each call becomes one of the realm's own function, which says what to use instead. */
import type { Program } from "acorn";
import { IMPORT_FUNCTION } from "../child/import-function.ts";
import { type Draft, overwrite, type Replacement } from "./draft.ts";
import { visit } from "./program.ts";

const HINT = /\bimport\b/;

/** Moves nothing. `program` is that of the draft's code. */
export function replaceImportCalls(draft: Draft, program: Program): Draft {
  if (!HINT.test(draft.code)) return draft;
  const calls: Replacement[] = [];
  visit(program, ({ type, start }) => {
    if (type !== "ImportExpression") return;
    calls.push({ start, end: start + IMPORT_FUNCTION.length, text: IMPORT_FUNCTION });
  });
  return overwrite(draft, calls);
}
