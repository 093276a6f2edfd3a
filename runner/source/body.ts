/**
 * The plain body: statements with top-level `await` and `return`, transpiled inside an async function. Also a single
 * function, which is called, and a last statement that starts an async function, which is waited for.
 */
import type { ArrowFunctionExpression, ExpressionStatement, Program, Statement } from "acorn";
import { type Draft, insertAtLineEnd, insertLineBefore, overwrite } from "./draft.ts";
import { functionExpressionOf, parseProgram, startedPromiseOf } from "./program.ts";

/** Goes before the source, on a line of its own. */
export const BODY_START = '(async () => {"use strict";';
/** Goes after it: the line break ends a last comment. */
export const BODY_END = "\n})";

/** The source closes the wrapper around it. `index` is where in the code. */
export class EscapedWrapper extends Error {
  readonly index: number;

  constructor(index: number) {
    super("The source closes a bracket it did not open.");
    this.index = index;
  }
}

/** Parses generated code. @throws SyntaxError with `loc`, and EscapedWrapper. */
export function parseBody(code: string): { program: Program; wrapper: ExpressionStatement } {
  const program = parseProgram(code, { ecmaVersion: "latest", sourceType: "script" });
  const index = program.body.findIndex(({ type }) => type === "ExpressionStatement");
  const wrapper = program.body[index] as ExpressionStatement;
  // Before the wrapper only helpers of the transpiler can stand: the source comes after its first bracket.
  if (wrapper.expression.type !== "ArrowFunctionExpression") throw new EscapedWrapper(wrapper.end);
  const extra = program.body[index + 1];
  if (extra !== undefined) throw new EscapedWrapper(extra.start);
  return { program, wrapper };
}

/** Generated code of a body, made into an expression for the function the realm calls. */
export function completeBody(draft: Draft, wrapper: ExpressionStatement): Draft {
  const { body } = wrapper.expression as ArrowFunctionExpression & {
    body: { body: Statement[]; end: number };
  };
  // Edits go from the end to the start, so that the positions of the parse stay right.
  let edited: Draft = { ...draft, code: draft.code.slice(0, wrapper.end).replace(/;$/, "") };
  edited = completeStatements(
    edited,
    body.body.filter((statement) => !("directive" in statement)),
    body.end - 1,
  );
  if (wrapper.start === 0) return edited;
  const helpers = edited.code.slice(0, wrapper.start);
  const main = edited.code.slice(wrapper.start);
  const mappings = insertLineBefore({ ...edited }, 0, "").mappings;
  return { code: `(() => {\n${helpers}return ${main};\n})()`, mappings };
}

/** Calls a lone function, waits for a started one. `end` is where the statements end. */
export function completeStatements(draft: Draft, statements: readonly Statement[], end: number): Draft {
  const last = statements.at(-1);
  if (last === undefined) return draft;
  const isAlone = statements.length === 1;
  if (isAlone && last.type === "FunctionDeclaration" && !last.generator) {
    return insertAtLineEnd(draft, end, `return ${last.id.name}();\n`);
  }
  if (isAlone && functionExpressionOf(last) !== undefined) return surround(draft, last, "return (", ")()");
  const started = startedPromiseOf(last, statements);
  if (started === undefined) return draft;
  const surrounded = surround(draft, last, isAlone ? "return (" : "await (", ")");
  if ((last as ExpressionStatement).expression === started) return surrounded;
  // The line put before has moved everything: `void` now stands that much later.
  const moved = surrounded.code.length - draft.code.length - ")".length;
  return overwrite(surrounded, [{ start: last.start + moved, end: last.start + moved + "void".length }]);
}

function surround(draft: Draft, statement: Statement, before: string, after: string): Draft {
  const end = draft.code[statement.end - 1] === ";" ? statement.end - 1 : statement.end;
  return insertLineBefore(insertAtLineEnd(draft, end, after), statement.start, before);
}
