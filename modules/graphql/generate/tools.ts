/** Turns a schema's query and mutation fields into tools, each with one operation, written once and stored. */
import {
  type DocumentNode,
  type GraphQLField,
  type GraphQLNamedOutputType,
  type GraphQLSchema,
  getNamedType,
  isNonNullType,
  Kind,
  OperationTypeNode,
  parseType,
  print,
  type SelectionSetNode,
} from "graphql";
import { quoteForeign } from "#modules/shared/failures.ts";
import type { JSONSchema, ToolDefinition } from "#sdk";
import type { ToolDomain } from "../domain.ts";
import { GraphqlFailure } from "../failures.ts";
import { makeInputSchema } from "./input-schema.ts";
import { type SelectionLimits, selectByDefault } from "./selection.ts";

const MAX_DESCRIPTION_CHARACTERS = 10_000;
/** Limits all tools together, as JSON. */
const MAX_DEFINITION_BYTES = 64 * 1024 * 1024;

type Operation = Exclude<OperationTypeNode, "subscription">;
type Field = GraphQLField<unknown, unknown>;

/** @throws GraphqlFailure if the schema has more fields, or needs more space, than can be stored */
export function makeTools(
  schema: GraphQLSchema,
  limits: SelectionLimits & { maxTools: number },
): ToolDefinition[] {
  const queries = Object.values(schema.getQueryType()?.getFields() ?? {});
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});
  const count = queries.length + mutations.length;
  if (count > limits.maxTools) {
    throw new GraphqlFailure(
      "graphql_bad_definition",
      `The schema has ${count} query and mutation fields; the limit is ${limits.maxTools} (maxTools of the module graphql).`,
    );
  }
  const ids = assignIds(queries, mutations);
  const tools: ToolDefinition[] = [];
  let bytes = 0;
  const add = (field: Field, operation: Operation) => {
    const tool = makeTool(schema, field, operation, ids(field.name, operation), limits);
    bytes += Buffer.byteLength(JSON.stringify(tool));
    if (bytes > MAX_DEFINITION_BYTES) {
      throw new GraphqlFailure(
        "graphql_bad_definition",
        `The tools of the schema would be larger than ${MAX_DEFINITION_BYTES} bytes together. Lower maxFields of the module graphql.`,
      );
    }
    tools.push(tool);
  };
  for (const field of queries) add(field, OperationTypeNode.QUERY);
  for (const field of mutations) add(field, OperationTypeNode.MUTATION);
  return tools;
}

/**
 * A field's name is its id. If a query and a mutation share a name, both get a suffix, so that neither inherits the
 * other's settings.
 */
function assignIds(queries: readonly Field[], mutations: readonly Field[]) {
  const taken = new Set([...queries, ...mutations].map((field) => field.name));
  const queried = new Set(queries.map((field) => field.name));
  const both = new Set(mutations.map((field) => field.name).filter((name) => queried.has(name)));
  return (name: string, operation: Operation): string => {
    let id = both.has(name) ? `${name}_${operation}` : name;
    // Names that every object has, and `then`, which would make the object a promise, cannot be ids.
    if (id in Object.prototype || id === "then") id = `${id}_`;
    while (id !== name && taken.has(id)) id = `${id}_`;
    return id;
  };
}

function makeTool(
  schema: GraphQLSchema,
  field: Field,
  operation: Operation,
  id: string,
  limits: SelectionLimits,
): ToolDefinition {
  const selection = selectByDefault(schema, field.type, limits);
  const select = selection.node === null ? null : chooseSelectName(field);
  const text = selection.node === null ? null : print(selection.node);
  return {
    id,
    name: field.name,
    description: quoteForeign(
      [
        field.description || `GraphQL ${operation} ${field.name}: ${field.type}.`,
        field.deprecationReason && `Deprecated: ${field.deprecationReason}`,
      ]
        .filter(Boolean)
        .join("\n\n"),
      MAX_DESCRIPTION_CHARACTERS,
    ),
    inputSchema: makeInputSchema(
      field.args,
      select === null ? {} : { [select]: describeSelect(field, text ?? "") },
    ),
    outputSchema: makeOutputSchema(selection.schema, select),
    adapterDomain: {
      field: field.name,
      document: print(writeOperation(field, operation, selection.node)),
      variables: field.args.map((arg) => arg.name),
      select,
    } satisfies ToolDomain,
    destructive: operation === OperationTypeNode.MUTATION,
  };
}

function chooseSelectName(field: Field): string {
  let name = "select";
  while (field.args.some((arg) => arg.name === name)) name += "_";
  return name;
}

const MAX_SELECTION_SHOWN_CHARACTERS = 400;

function describeSelect(field: Field, generated: string): JSONSchema {
  const type = getNamedType(field.type);
  return {
    type: "string",
    description: `GraphQL selection set on ${type.name}, such as \`{ ${firstFieldOf(type)} }\`; arguments as literals. Default: ${quoteForeign(generated.replaceAll(/\s+/g, " "), MAX_SELECTION_SHOWN_CHARACTERS)}`,
  };
}

function firstFieldOf(type: GraphQLNamedOutputType): string {
  return "getFields" in type ? (Object.keys(type.getFields())[0] ?? "__typename") : "__typename";
}

/** A non-null argument with a default may be omitted, so its variable is optional too. */
function writeOperation(
  field: Field,
  operation: Operation,
  selectionSet: SelectionSetNode | null,
): DocumentNode {
  return {
    kind: Kind.DOCUMENT,
    definitions: [
      {
        kind: Kind.OPERATION_DEFINITION,
        operation,
        name: { kind: Kind.NAME, value: field.name },
        variableDefinitions: field.args.map((arg) => ({
          kind: Kind.VARIABLE_DEFINITION,
          variable: { kind: Kind.VARIABLE, name: { kind: Kind.NAME, value: arg.name } },
          type: parseType(
            String(isNonNullType(arg.type) && arg.default !== undefined ? arg.type.ofType : arg.type),
            { noLocation: true },
          ),
        })),
        selectionSet: {
          kind: Kind.SELECTION_SET,
          selections: [
            {
              kind: Kind.FIELD,
              name: { kind: Kind.NAME, value: field.name },
              arguments: field.args.map((arg) => ({
                kind: Kind.ARGUMENT,
                name: { kind: Kind.NAME, value: arg.name },
                value: { kind: Kind.VARIABLE, name: { kind: Kind.NAME, value: arg.name } },
              })),
              ...(selectionSet === null ? {} : { selectionSet }),
            },
          ],
        },
      },
    ],
  };
}

function makeOutputSchema(value: JSONSchema, select: string | null): JSONSchema {
  return {
    type: "object",
    ...(select === null
      ? {}
      : { description: `\`data\` as selected by default; with \`${select}\`, as selected there.` }),
    properties: { data: value },
    required: ["data"],
  };
}
