import {
  type AnyNode,
  type Expression,
  type Node,
  type Options,
  Parser,
  type Program,
  type Statement,
} from "acorn";
import { IMPORT_FUNCTION } from "../wire/realm-constants.ts";
import { type Draft, overwrite, type Replacement } from "./draft.ts";

/** The parser compares a pattern's groups pairwise. */
const MAX_CHECKED_PATTERN_CHARS = 10_000;

interface Internals {
  declareName(...args: unknown[]): void;
  checkLocalExport(...args: unknown[]): void;
  readRegexp(): unknown;
  validateRegExpPattern(state: { source: string }): void;
}

let parser: typeof Parser | null = null;

/**
 * Skips checks that take quadratic time, because the transpiler or the engine makes them. @throws SyntaxError with
 * `pos`
 */
export function parseProgram(code: string, options: Options): Program {
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
    /** The parser would compile each pattern, which can take the engine seconds that nothing interrupts. */
    override readRegexp(): unknown {
      const own = globalThis.RegExp;
      globalThis.RegExp = UnmadeRegExp as never;
      try {
        return super.readRegexp();
      } finally {
        globalThis.RegExp = own;
      }
    }
  }
  return LinearParser as unknown as typeof Parser;
}

class UnmadeRegExp {}

export function findRequire(program: Program, code: string): Node | undefined {
  if (!/\brequire\b/.test(code)) return undefined;
  let call: Node | undefined;
  let isDeclared = false;
  visit(program, (node, parent, key) => {
    if (node.type !== "Identifier" || node.name !== "require") return;
    if (parent.type === "CallExpression" && key === "callee") call ??= parent;
    else if (DECLARING.has(`${parent.type}.${key}`)) isDeclared = true;
  });
  return isDeclared ? undefined : call;
}

/** A template called with a template is a Markdown code fence that happens to parse. */
export function callsTemplate(program: Program): boolean {
  let found = false;
  visit(program, (node, parent, key) => {
    if (parent.type !== "TaggedTemplateExpression" || key !== "tag") return;
    if (node.type === "TemplateLiteral" || node.type === "TaggedTemplateExpression") found = true;
  });
  return found;
}

const DECLARING = new Set([
  "VariableDeclarator.id",
  "FunctionDeclaration.id",
  "FunctionDeclaration.params",
  "FunctionExpression.params",
  "ArrowFunctionExpression.params",
  "ClassDeclaration.id",
]);

export function visit(
  node: Program | AnyNode,
  enter: (node: AnyNode, parent: AnyNode, key: string) => unknown,
): void {
  for (const [key, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type !== "string") continue;
      if (enter(child, node as AnyNode, key) !== false) visit(child, enter);
    }
  }
}

export function hasReturn(statements: readonly Statement[]): boolean {
  let found = false;
  visit({ type: "BlockStatement", body: statements as Statement[], start: 0, end: 0 }, ({ type }) => {
    if (type === "ReturnStatement") found = true;
    return !type.includes("Function");
  });
  return found;
}

export function functionExpressionOf(statement: Statement): Expression | undefined {
  if (statement.type !== "ExpressionStatement") return undefined;
  const { expression } = statement;
  return isFunction(expression) ? expression : undefined;
}

/**
 * Returns the last expression if it starts an async function and should be awaited: `main()`, `main().catch(…)`, an
 * IIFE.
 */
export function startedPromiseOf(
  statement: Statement,
  statements: readonly Statement[],
): Expression | undefined {
  if (statement.type !== "ExpressionStatement") return undefined;
  let { expression } = statement;
  if (expression.type === "UnaryExpression" && expression.operator === "void")
    expression = expression.argument;
  const started = expression;
  let call = expression;
  while (call.type === "CallExpression" && call.callee.type === "MemberExpression") {
    const { property, object } = call.callee;
    if (property.type !== "Identifier" || !PROMISE_METHODS.has(property.name)) return undefined;
    call = object as Expression;
  }
  if (call.type !== "CallExpression") return undefined;
  const { callee } = call;
  if (isFunction(callee as Expression)) return (callee as { async?: boolean }).async ? started : undefined;
  return callee.type === "Identifier" && declaresAsync(callee.name, statements) ? started : undefined;
}

const PROMISE_METHODS = new Set(["then", "catch", "finally"]);

function isFunction(expression: Expression): boolean {
  return (
    expression.type === "ArrowFunctionExpression" ||
    (expression.type === "FunctionExpression" && !expression.generator)
  );
}

function declaresAsync(name: string, statements: readonly Statement[]): boolean {
  return statements.some((statement) => {
    if (statement.type === "FunctionDeclaration") return statement.async && statement.id.name === name;
    if (statement.type !== "VariableDeclaration") return false;
    return statement.declarations.some(
      ({ id, init }) =>
        id.type === "Identifier" && id.name === name && (init as { async?: boolean } | null)?.async === true,
    );
  });
}

const IMPORT_HINT = /\bimport\b/;

/**
 * Replaces each `import()` with a call of the realm's function and keeps every position. `program` must be the parsed
 * code of the draft.
 */
export function replaceImportCalls(draft: Draft, program: Program): Draft {
  if (!IMPORT_HINT.test(draft.code)) return draft;
  const calls: Replacement[] = [];
  visit(program, ({ type, start }) => {
    if (type !== "ImportExpression") return;
    calls.push({ start, end: start + IMPORT_FUNCTION.length, text: IMPORT_FUNCTION });
  });
  return overwrite(draft, calls);
}
