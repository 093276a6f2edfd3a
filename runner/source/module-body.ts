/**
 * A source with `export`: its default is called if it is a function and returned if it is a value; other exports are
 * plain declarations. Imports are refused by the caller.
 */
import type { ExportDefaultDeclaration, ModuleDeclaration, Program, Statement } from "acorn";
import { completeStatements } from "./body.ts";
import { type Draft, insertAtLineEnd, overwrite, type Replacement } from "./draft.ts";
import { parseProgram } from "./program.ts";

const START_LINES = ["(async () => {", '"use strict";', ""];
/** As long as `export default`, so that no column moves. */
const DEFAULT_NAMES = ["__default", "$$default", "__deFault"];

/** @throws SyntaxError with `loc`. */
export function parseModule(code: string): Program {
  return parseProgram(code, {
    ecmaVersion: "latest",
    sourceType: "module",
    allowAwaitOutsideFunction: true,
    allowReturnOutsideFunction: true,
  });
}

/** The first statement that would load another module. */
export function findImport(program: Program): Statement | ModuleDeclaration | undefined {
  return program.body.find(
    (statement) =>
      statement.type === "ImportDeclaration" ||
      statement.type === "ExportAllDeclaration" ||
      (statement.type === "ExportNamedDeclaration" && statement.source),
  );
}

/** Generated code of a module, made into an expression for the function the realm calls. */
export function completeModule(draft: Draft, program: Program): Draft {
  const name = DEFAULT_NAMES.find((candidate) => !draft.code.includes(candidate)) ?? "__default";
  const statements = program.body.filter(({ type }) => !type.startsWith("Export")) as Statement[];
  const returned = program.body
    .map((statement) => readDefault(statement, name))
    .find((value) => value !== undefined);
  let edited = overwrite(
    draft,
    program.body.flatMap((statement) => replaceExport(statement, name) ?? []),
  );
  // From the end to the start, so that the positions of the parse stay right.
  if (returned !== undefined) edited = insertAtLineEnd(edited, draft.code.length, `return ${returned};\n`);
  const unnamed = program.body.find(isUnnamedDefault);
  if (unnamed !== undefined) edited = insertAtLineEnd(edited, unnamed.end, ";");
  if (returned === undefined) edited = completeStatements(edited, statements, draft.code.length);
  return {
    code: `${START_LINES.join("\n")}${edited.code}})`,
    mappings: ";".repeat(START_LINES.length - 1) + edited.mappings,
  };
}

/** The expression that gives what the script returns. */
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

function callIfFunction(name: string): string {
  return `typeof ${name} === "function" ? ${name}() : ${name}`;
}

/** What is to stand in place of `export`, or of a list of what is exported. */
function replaceExport(statement: Statement | ModuleDeclaration, name: string): Replacement | null {
  const { start } = statement;
  if (statement.type === "ExportNamedDeclaration") {
    return { start, end: statement.declaration ? start + "export".length : statement.end };
  }
  if (statement.type !== "ExportDefaultDeclaration") return null;
  const isNamed = isDeclaration(statement) && !isUnnamedDefault(statement);
  return { start, end: start + "export default".length, ...(!isNamed && { text: `let ${name}=` }) };
}

/** A function or class without a name, which becomes an expression that has to end. */
function isUnnamedDefault(statement: Statement | ModuleDeclaration): boolean {
  if (statement.type !== "ExportDefaultDeclaration" || !isDeclaration(statement)) return false;
  return (statement.declaration as { id?: unknown }).id == null;
}

function isDeclaration({ declaration }: ExportDefaultDeclaration): boolean {
  return declaration.type === "FunctionDeclaration" || declaration.type === "ClassDeclaration";
}
