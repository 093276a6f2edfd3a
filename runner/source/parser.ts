/**
 * The parser, without what takes it the square of a source's length: it would hold up everybody. What is left out here the
 * transpiler has checked, or the engine does.
 */
import { type Options, Parser, type Program } from "acorn";

/** It compares the groups of a pattern with each other. */
const MAX_CHECKED_PATTERN_CHARS = 10_000;

/** Methods of the parser that its types do not show. */
interface Internals {
  /** Looks a name up in a list of all that its scope declares. */
  declareName(...args: unknown[]): void;
  checkLocalExport(...args: unknown[]): void;
  validateRegExpPattern(state: { source: string }): void;
}

let parser: typeof Parser | null = null;

/** @throws SyntaxError with `pos`. */
export function parseProgram(code: string, options: Options): Program {
  // Made with the first source: a program that needs none is not to load the library.
  parser ??= Parser.extend(withoutSquares);
  return parser.parse(code, options);
}

function withoutSquares(base: typeof Parser): typeof Parser {
  const Base = base as unknown as new (...args: unknown[]) => Internals;
  class LinearParser extends Base {
    override declareName(): void {}
    override checkLocalExport(): void {}
    override validateRegExpPattern(state: { source: string }): void {
      if (state.source.length <= MAX_CHECKED_PATTERN_CHARS) super.validateRegExpPattern(state);
    }
  }
  return LinearParser as unknown as typeof Parser;
}
