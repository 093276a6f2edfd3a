/**
 * Checks that a bundle is one function expression that never asks the engine for a module. Rewrites its regular
 * expressions in ASCII: a single other character would make the engine use twice as many bytes.
 */
import type { Expression, Program } from "acorn";
import { parseProgram, visit } from "../source/program.ts";
import { Refusal } from "./plugin.ts";

/** Inserted characters by line and column, both 0-based. */
export type Shifts = ReadonlyMap<number, readonly [column: number, more: number][]>;

/** @throws Refusal */
export function checkBundle(code: string): { code: string; shifts: Shifts } {
  try {
    const program = parseProgram(code, { ecmaVersion: "latest", sourceType: "script" });
    const [statement, second] = program.body;
    const isFunction =
      statement?.type === "ExpressionStatement" && statement.expression.type === "ArrowFunctionExpression";
    if (!isFunction || second !== undefined) throw new Refusal("The bundle is not one function.");
    return escapeRegExps(code, listRegExps(program));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if (error instanceof RangeError) throw new Refusal("Its code is nested too deeply.");
    throw new Refusal(`Its code cannot be read: ${(error as Error).message.slice(0, 200)}.`);
  }
}

/** Lists regular expressions with characters beyond ASCII, in order. @throws Refusal */
function listRegExps(program: Program): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  visit(program, (node) => {
    if (node.type === "ImportExpression") throw new Refusal("The bundle still asks the engine for a module.");
    const { type, regex, start, end } = node as Expression & { regex?: { pattern: string } };
    if (type === "Literal" && regex !== undefined && WIDE.test(regex.pattern)) found.push({ start, end });
  });
  return found.sort((a, b) => a.start - b.start);
}
const WIDE = /[^\0-\x7f]/;

function escapeRegExps(
  code: string,
  literals: readonly { start: number; end: number }[],
): { code: string; shifts: Shifts } {
  const shifts = new Map<number, [number, number][]>();
  const parts: string[] = [];
  let at = 0;
  let line = 0;
  let lineStart = 0;
  for (const { start, end } of literals) {
    for (let next = code.indexOf("\n", lineStart); next !== -1 && next < start; ) {
      line++;
      lineStart = next + 1;
      next = code.indexOf("\n", lineStart);
    }
    // A surrogate pair in a pattern is read as one code point, escaped or not.
    const escaped = code
      .slice(start, end)
      .replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    parts.push(code.slice(at, start), escaped);
    at = end;
    const ofLine = shifts.get(line) ?? [];
    ofLine.push([end - lineStart, escaped.length - (end - start)]);
    shifts.set(line, ofLine);
  }
  return { code: parts.join("") + code.slice(at), shifts };
}
