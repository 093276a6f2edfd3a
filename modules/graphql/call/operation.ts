/** The operations of one service, checked against its schema, which is built at the first of them. */
import { type GraphQLSchema, getVariableValues, Kind, parse } from "graphql";
import { quoteForeign } from "#modules/shared/failures.ts";
import type { ToolDomain } from "../domain.ts";
import { GraphqlFailure } from "../failures.ts";
import { rebuildSchema } from "../generate/definition.ts";
import type { GraphqlRequest } from "./endpoint.ts";
import { applySelect } from "./select.ts";

export interface Operations {
  /** @throws GraphqlFailure for parameters that do not fit the schema. */
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
  const { errors } = getVariableValues(schema, operation.variableDefinitions ?? [], variables, {
    maxErrors: MAX_VARIABLE_ERRORS,
  });
  if (errors === undefined) return;
  const text = quoteForeign(errors.map((error) => error.message).join(" "));
  throw new GraphqlFailure("graphql_bad_parameters", `The parameters do not fit the schema: ${text}`);
}
