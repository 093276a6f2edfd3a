/**
 * A source with `export`: its default is called if it is a function and returned if it is a value; other exports are
 * plain declarations. Imports are refused by the caller.
 */
import {
  type ExportDefaultDeclaration,
  type ModuleDeclaration,
  type Program,
  parse,
  type Statement,
} from "acorn";
import { completeStatements } from "./body.ts";
import { type Draft, insertAtLineEnd, overwrite } from "./draft.ts";

const START_LINES = ["(async () => {", '"use strict";', ""];
/** As long as `export default`, so that no column moves. */
const DEFAULT_NAMES = ["__default", "$$default", "__deFault"];

/** @throws SyntaxError with `loc`. */
export function parseModule(code: string): Program {
  return parse(code, {
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
  let edited =
    returned === undefined ? draft : insertAtLineEnd(draft, draft.code.length, `return ${returned};\n`);
  for (const statement of program.body.toReversed()) edited = withoutExport(edited, statement, name);
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

function withoutExport(draft: Draft, statement: Statement | ModuleDeclaration, name: string): Draft {
  if (statement.type === "ExportDefaultDeclaration") return withoutDefault(draft, statement, name);
  if (statement.type !== "ExportNamedDeclaration") return draft;
  if (statement.declaration) return overwrite(draft, statement.start, statement.start + "export".length);
  return overwrite(draft, statement.start, statement.end);
}

function withoutDefault(draft: Draft, statement: ExportDefaultDeclaration, name: string): Draft {
  const end = statement.start + "export default".length;
  const { declaration } = statement;
  if (declaration.type === "FunctionDeclaration" || declaration.type === "ClassDeclaration") {
    if (declaration.id) return overwrite(draft, statement.start, end);
    return overwrite(insertAtLineEnd(draft, declaration.end, ";"), statement.start, end, `let ${name}=`);
  }
  return overwrite(draft, statement.start, end, `let ${name}=`);
}
