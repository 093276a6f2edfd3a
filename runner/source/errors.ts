import { EscapedWrapper } from "./body.ts";
import { findSource, type Position } from "./draft.ts";

/** Positions are 1-based, in the submitted text; columns count UTF-16 units. */
export interface SourceError {
  name: "SyntaxError";
  message: string;
  line: number;
  column: number;
  /** Absent for the submitted script. */
  file?: string;
}

export type Refused = { ok: false; error: SourceError };

export function sourceError(message: string, { line, column }: Position, file?: string): Refused {
  return {
    ok: false,
    error: { name: "SyntaxError", message, line, column, ...(file !== undefined && { file }) },
  };
}

export function nodeError(
  generated: { code: string; mappings: string },
  node: { start: number },
  message: string,
): Refused {
  const before = generated.code.slice(0, node.start).split("\n");
  const place = { line: before.length, column: before.at(-1)?.length ?? 0 };
  return sourceError(message, findSource(generated.mappings, place) ?? { line: 1, column: 1 });
}

export function attempt<T>(generated: { code: string; mappings: string }, parse: () => T): T | Refused {
  try {
    return parse();
  } catch (error) {
    if (error instanceof EscapedWrapper) return nodeError(generated, { start: error.index }, error.message);
    if (error instanceof RangeError)
      return sourceError("The source is nested too deeply.", { line: 1, column: 1 });
    if (!(error instanceof SyntaxError)) throw error;
    const { pos } = error as SyntaxError & { pos: number };
    return nodeError(generated, { start: pos }, error.message.replace(/ \(\d+:\d+\)$/, ""));
  }
}
