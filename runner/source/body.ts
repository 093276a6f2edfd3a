/**
 * Handles a plain body: statements with top-level `await` and `return`, transpiled inside an async function. A lone
 * function is called. Without a `return`, the value of the last expression is the result.
 */
import type { ArrowFunctionExpression, ExpressionStatement, Program, Statement } from "acorn";
import { LAST_VALUE } from "../wire/realm-constants.ts";
import { type Draft, insertAtLineEnd, insertLineBefore, overwrite } from "./draft.ts";
import { functionExpressionOf, hasReturn, parseProgram, startedPromiseOf } from "./program.ts";

export const BODY_START = '(async () => {"use strict";';
/** The line break ends a trailing comment. */
export const BODY_END = "\n})";

export class EscapedWrapper extends Error {
  readonly index: number;

  constructor(index: number) {
    super("The source closes a bracket that it did not open.");
    this.index = index;
  }
}

export function parseBody(code: string): { program: Program; wrapper: ExpressionStatement } {
  const program = parseProgram(code, { ecmaVersion: "latest", sourceType: "script" });
  const index = program.body.findIndex(({ type }) => type === "ExpressionStatement");
  const wrapper = program.body[index] as ExpressionStatement;
  // Only transpiler helpers come before the wrapper.
  if (wrapper.expression.type !== "ArrowFunctionExpression") throw new EscapedWrapper(wrapper.end);
  const extra = program.body[index + 1];
  if (extra !== undefined) throw new EscapedWrapper(extra.start);
  return { program, wrapper };
}

export function completeBody(draft: Draft, wrapper: ExpressionStatement): Draft {
  const { body } = wrapper.expression as ArrowFunctionExpression & {
    body: { body: Statement[]; end: number };
  };
  // Editing from the end to the start keeps the parsed positions valid.
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

/**
 * Makes the statements return their result: calls a lone function, or returns the value of the last expression. If
 * the script already contains a `return`, a last statement that starts an async function is only awaited.
 */
export function completeStatements(draft: Draft, statements: readonly Statement[], end: number): Draft {
  const isAlone = statements.length === 1;
  const [first] = statements;
  if (isAlone && first?.type === "FunctionDeclaration" && !first.generator) {
    return insertAtLineEnd(draft, end, `return ${first.id.name}();\n`);
  }
  const last = statements.findLast(({ type }) => type !== "FunctionDeclaration");
  if (last?.type !== "ExpressionStatement") return draft;
  if (isAlone && functionExpressionOf(last) !== undefined) return surround(draft, last, "return (", ")()");
  const started = startedPromiseOf(last, statements);
  const isVoid = started !== undefined && last.expression !== started;
  const own = isVoid ? overwrite(draft, [{ start: last.start, end: last.start + "void".length }]) : draft;
  if (isAlone && started !== undefined) return surround(own, last, "return (", ")");
  if (!hasReturn(statements) && !isHelperCall(last)) {
    return surround(own, last, `return{__proto__:null,"${LAST_VALUE}":await (`, ")}");
  }
  return started === undefined ? draft : surround(own, last, "await (", ")");
}

/** The transpiler adds calls that finish class declarations. */
function isHelperCall({ expression }: ExpressionStatement): boolean {
  const callee = expression.type === "CallExpression" ? expression.callee : undefined;
  return callee?.type === "Identifier" && /^__(?:decorat|run|public|private)/.test(callee.name);
}

function surround(draft: Draft, statement: Statement, before: string, after: string): Draft {
  const end = draft.code[statement.end - 1] === ";" ? statement.end - 1 : statement.end;
  return insertLineBefore(insertAtLineEnd(draft, end, after), statement.start, before);
}
