/**
 * A service's operations, checked against its schema, which is built at the first call. A caller's selection can
 * choose fields and nothing else.
 */
import {
  type DocumentNode,
  type GraphQLSchema,
  getVariableValues,
  Kind,
  parse,
  print,
  type SelectionSetNode,
  specifiedRules,
  validate,
  visit,
} from "graphql";
import { quoteForeign } from "#modules/shared/failures.ts";
import { withBigInts } from "#sdk";
import type { ToolDomain } from "../domain.ts";
import { GraphqlFailure, messageOf } from "../failures.ts";
import { rebuildSchema } from "../generate/definition.ts";
import type { GraphqlRequest } from "./endpoint.ts";

export interface Operations {
  /** @throws GraphqlFailure for invalid parameters */
  makeRequest(tool: ToolDomain, parameters: Record<string, unknown>): GraphqlRequest;
}

export function createOperations(sdl: string): Operations {
  const schema = rebuildSchema(sdl);
  return { makeRequest: (tool, parameters) => makeRequest(schema, tool, parameters) };
}

function makeRequest(
  schema: GraphQLSchema,
  tool: ToolDomain,
  parameters: Record<string, unknown>,
): GraphqlRequest {
  const variables: Record<string, unknown> = {};
  for (const name of tool.variables) {
    if (Object.hasOwn(parameters, name) && parameters[name] !== undefined) variables[name] = parameters[name];
  }
  checkVariables(schema, tool, variables);
  const select = tool.select === null ? undefined : parameters[tool.select];
  const query = select === undefined ? tool.document : applySelect(schema, tool.document, select);
  return { query, operationName: tool.field, variables };
}

const MAX_VARIABLE_ERRORS = 5;

function checkVariables(schema: GraphQLSchema, tool: ToolDomain, variables: Record<string, unknown>): void {
  const [operation] = parse(tool.document, { noLocation: true }).definitions;
  if (operation?.kind !== Kind.OPERATION_DEFINITION) return;
  // The GraphQL library cannot represent integers beyond the range of a JavaScript number.
  const isExact = withBigInts(variables) !== variables;
  const known = isExact ? JSON.parse(JSON.stringify(variables)) : variables;
  const { errors } = getVariableValues(schema, operation.variableDefinitions ?? [], known, {
    maxErrors: MAX_VARIABLE_ERRORS,
  });
  if (errors === undefined) return;
  const text = quoteForeign(errors.map((error) => error.message).join(" "));
  throw new GraphqlFailure("graphql_bad_parameters", `The parameters do not match the schema: ${text}`);
}

const SELECT_LIMITS = { maxCharacters: 20_000, maxTokens: 2000, maxDepth: 20, maxErrors: 5 } as const;

const KNOWN_DIRECTIVES = new Set(["include", "skip"]);

/**
 * Returns the tool's operation text, `documentText`, with the caller's selection instead of the default one. @throws
 * GraphqlFailure that names the part of the selection that does not match the schema
 */
function applySelect(schema: GraphQLSchema, documentText: string, select: unknown): string {
  if (typeof select !== "string" || select.trim() === "") throw refuse("it is not a string");
  const selectionSet = parseSelection(select);
  const document = parse(documentText, { noLocation: true });
  let isFirst = true;
  const changed: DocumentNode = visit(document, {
    [Kind.FIELD]: (field) => {
      if (!isFirst) return undefined;
      isFirst = false;
      return { ...field, selectionSet };
    },
  });
  const problems = validate(schema, changed, specifiedRules, { maxErrors: SELECT_LIMITS.maxErrors });
  if (problems.length > 0) throw refuse(quoteForeign(problems.map((problem) => problem.message).join(" ")));
  return print(changed);
}

function parseSelection(select: string): SelectionSetNode {
  if (select.length > SELECT_LIMITS.maxCharacters) {
    throw refuse(`it is longer than ${SELECT_LIMITS.maxCharacters} characters`);
  }
  refuseNesting(select);
  const text = select.trim().startsWith("{") ? select : `{${select}}`;
  let document: DocumentNode;
  try {
    document = parse(text, { noLocation: true, maxTokens: SELECT_LIMITS.maxTokens });
  } catch (error) {
    throw refuse(messageOf(error));
  }
  const [operation, ...others] = document.definitions;
  const isPlain =
    operation?.kind === Kind.OPERATION_DEFINITION &&
    operation.operation === "query" &&
    operation.name === undefined &&
    !operation.variableDefinitions?.length &&
    !operation.directives?.length;
  if (!isPlain || others.length > 0) throw refuse("it contains more than one selection set");
  visit(document, {
    [Kind.SELECTION_SET]: ({ selections }) => {
      if (selections.length === 0) throw refuse("it selects nothing");
    },
    [Kind.DIRECTIVE]: ({ name }) => {
      if (!KNOWN_DIRECTIVES.has(name.value))
        throw refuse(`the directive @${name.value} cannot be used in it`);
    },
  });
  return operation.selectionSet;
}

/** Runs before parsing, because the parser and later steps recurse as deep as the text nests. */
function refuseNesting(text: string): void {
  let depth = 0;
  for (const character of text) {
    if (character === "{" || character === "[" || character === "(") depth += 1;
    else if (character === "}" || character === "]" || character === ")") depth -= 1;
    if (depth > SELECT_LIMITS.maxDepth)
      throw refuse(`it is nested deeper than ${SELECT_LIMITS.maxDepth} levels`);
  }
}

function refuse(problem: string): GraphqlFailure {
  return new GraphqlFailure(
    "graphql_bad_parameters",
    `The selection cannot be used: ${problem} (expected a GraphQL selection set such as "{ id name }").`,
  );
}
