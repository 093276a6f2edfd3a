/**
 * Handles a source with `export`: a default function is called, a default value returned, and a function that is the
 * only export called. Other exports are plain declarations. A source with imports becomes linkable instead
 * (modules/linkable.ts).
 */
import type { ExportDefaultDeclaration, ModuleDeclaration, Program, Statement } from "acorn";
import { completeStatements } from "./body.ts";
import { type Draft, insertAtLineEnd, overwrite, type Replacement } from "./draft.ts";
import { parseProgram } from "./program.ts";

const START_LINES = ["(async () => {", '"use strict";', ""];
/** Names as long as `export default`, so that no column moves. */
const DEFAULT_NAMES = ["__default", "$$default", "__deFault"];

export function parseModule(code: string): Program {
  return parseProgram(code, {
    ecmaVersion: "latest",
    sourceType: "module",
    allowAwaitOutsideFunction: true,
    allowReturnOutsideFunction: true,
  });
}

export function completeModule(draft: Draft, program: Program): Draft {
  const name = defaultName(draft.code);
  const statements = program.body.filter(({ type }) => !type.startsWith("Export")) as Statement[];
  const returned = program.body
    .map((statement) => readDefault(statement, name))
    .concat(callLoneExport(program.body))
    .find((value) => value !== undefined);
  const replaced = overwrite(
    draft,
    program.body.flatMap((statement) => replaceExport(statement, name) ?? []),
  );
  const edited = finishModule(replaced, program.body, returned, statements, draft.code.length);
  return {
    code: `${START_LINES.join("\n")}${edited.code}})`,
    mappings: ";".repeat(START_LINES.length - 1) + edited.mappings,
  };
}

export function defaultName(code: string): string {
  return DEFAULT_NAMES.find((candidate) => !code.includes(candidate)) ?? "__default";
}

/**
 * Returns the default export, or the value of the last of `statements`, which end at `end`. `draft` is the code with
 * its exports replaced by text of the same length.
 */
export function finishModule(
  draft: Draft,
  body: Program["body"],
  returned: string | undefined,
  statements: readonly Statement[] | null,
  end: number,
): Draft {
  // Editing from the end to the start keeps the parsed positions valid.
  let edited = draft;
  // Awaited here: for a returned promise the engine would call `then`, which the script may have replaced.
  if (returned !== undefined)
    edited = insertAtLineEnd(edited, draft.code.length, `return await (${returned});\n`);
  const unnamed = body.find(isUnnamedDefault);
  if (unnamed !== undefined) edited = insertAtLineEnd(edited, unnamed.end, ";");
  const isOwn = end === draft.code.length;
  if (statements === null || (isOwn && returned !== undefined)) return edited;
  return completeStatements(edited, statements, end);
}

function readDefault(statement: Statement | ModuleDeclaration, name: string): string | undefined {
  if (statement.type === "ExportDefaultDeclaration") {
    const { declaration } = statement;
    const local = "id" in declaration && declaration.id ? (declaration.id as { name: string }).name : name;
    return callIfFunction(local);
  }
  if (statement.type !== "ExportNamedDeclaration") return undefined;
  for (const { exported, local } of statement.specifiers) {
    const target = exported.type === "Identifier" ? exported.name : exported.value;
    if (target === "default" && local.type === "Identifier") return callIfFunction(local.name);
  }
  return undefined;
}

/** Returns the name of an exported function if the module contains nothing else but imports. */
export function callLoneExport(body: Program["body"]): string | undefined {
  const [only, second] = body.filter(({ type }) => type !== "ImportDeclaration");
  if (only?.type !== "ExportNamedDeclaration" || second !== undefined) return undefined;
  const { declaration } = only;
  if (declaration?.type !== "FunctionDeclaration" || declaration.generator) return undefined;
  return `${declaration.id.name}()`;
}

export function callIfFunction(name: string): string {
  return `typeof ${name} === "function" ? ${name}() : ${name}`;
}

export function replaceExport(statement: Statement | ModuleDeclaration, name: string): Replacement | null {
  const { start } = statement;
  if (statement.type === "ExportNamedDeclaration") {
    return { start, end: statement.declaration ? start + "export".length : statement.end };
  }
  if (statement.type !== "ExportDefaultDeclaration") return null;
  const isNamed = isDeclaration(statement) && !isUnnamedDefault(statement);
  return { start, end: start + "export default".length, ...(!isNamed && { text: `let ${name}=` }) };
}

/** Returns whether the default export has no name: it becomes an expression, which needs a terminator. */
function isUnnamedDefault(statement: Statement | ModuleDeclaration): boolean {
  if (statement.type !== "ExportDefaultDeclaration" || !isDeclaration(statement)) return false;
  return (statement.declaration as { id?: unknown }).id == null;
}

function isDeclaration({ declaration }: ExportDefaultDeclaration): boolean {
  return declaration.type === "FunctionDeclaration" || declaration.type === "ClassDeclaration";
}
