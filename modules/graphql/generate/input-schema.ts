/**
 * Converts a field's arguments to JSON Schema. Input objects and enums become definitions, so that recursive types
 * terminate.
 */
import {
  GRAPHQL_MAX_INT,
  GRAPHQL_MIN_INT,
  type GraphQLArgument,
  type GraphQLEnumType,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLScalarType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredArgument,
  isRequiredInputField,
  print,
} from "graphql";
import { quoteForeign } from "#modules/shared/failures.ts";
import type { JSONSchema } from "#sdk";

/**
 * Maximum number of definitions in one tool's schema; the nearest are included. Types further away are described in
 * words and checked by the GraphQL library at call time: a filter language of thousands of types would otherwise be
 * copied into every tool.
 */
const MAX_DEFINITIONS = 60;
const MAX_DESCRIPTION_CHARACTERS = 2000;
const MAX_DEFAULT_CHARACTERS = 200;

type Defined = GraphQLEnumType | GraphQLInputObjectType;

/** Returns an object schema with one property per argument, plus the properties in `extra`. */
export function makeInputSchema(
  args: readonly GraphQLArgument[],
  extra: Record<string, JSONSchema>,
): JSONSchema {
  const definitions = new Map<string, JSONSchema>();
  const waiting: Defined[] = [];
  const refer = (type: Defined): JSONSchema => {
    if (!definitions.has(type.name)) {
      if (definitions.size >= MAX_DEFINITIONS) return describeFarType(type);
      definitions.set(type.name, {});
      waiting.push(type);
    }
    return { $ref: `#/$defs/${type.name}` };
  };
  const properties: [string, JSONSchema][] = args.map((arg) => [arg.name, makeProperty(arg, refer)]);
  for (const type of drain(waiting)) {
    definitions.set(type.name, isEnumType(type) ? makeEnum(type) : makeInputObject(type, refer));
  }
  return {
    type: "object",
    properties: Object.fromEntries([...properties, ...Object.entries(extra)]),
    required: args.filter(isRequiredArgument).map((arg) => arg.name),
    additionalProperties: false,
    ...(definitions.size > 0 ? { $defs: Object.fromEntries(definitions) } : {}),
  };
}

type Refer = (type: Defined) => JSONSchema;

function* drain(waiting: Defined[]): Generator<Defined> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) yield next;
}

function makeProperty(value: GraphQLArgument | GraphQLInputField, refer: Refer): JSONSchema {
  // A default replaces an absent value, even where null would be rejected.
  return describe(makeType(value.type, refer), [
    value.description,
    value.default?.literal &&
      `Default: ${quoteForeign(print(value.default.literal), MAX_DEFAULT_CHARACTERS)}`,
    value.deprecationReason && `Deprecated: ${value.deprecationReason}`,
  ]);
}

function makeType(type: GraphQLInputType, refer: Refer): JSONSchema {
  if (isNonNullType(type)) return makePresent(type.ofType, refer);
  const present = makePresent(type, refer);
  if (Object.keys(present).every((key) => key === "description")) return present;
  return { anyOf: [present, { type: "null" }] };
}

function makePresent(type: GraphQLInputType, refer: Refer): JSONSchema {
  if (isListType(type)) return { type: "array", items: makeType(type.ofType, refer) };
  if (isEnumType(type) || isInputObjectType(type)) return refer(type);
  return makeScalar(type as GraphQLScalarType);
}

/** Used for input and output. Custom scalars allow any value. */
export function makeScalar(type: GraphQLScalarType): JSONSchema {
  switch (type.name) {
    case "Int":
      return { type: "integer", minimum: GRAPHQL_MIN_INT, maximum: GRAPHQL_MAX_INT };
    case "Float":
      return { type: "number" };
    case "String":
      return { type: "string" };
    case "Boolean":
      return { type: "boolean" };
    case "ID":
      return { type: ["string", "integer"] };
    default:
      return describe({}, [
        `Scalar ${type.name}.`,
        type.description,
        type.specifiedByURL && `See ${type.specifiedByURL}`,
      ]);
  }
}

function makeEnum(type: GraphQLEnumType): JSONSchema {
  const values = type.getValues();
  const notes = values
    .filter((value) => value.description)
    .map((value) => `${value.name}: ${value.description}`);
  return describe({ type: "string", enum: values.map((value) => value.name) }, [type.description, ...notes]);
}

function makeInputObject(type: GraphQLInputObjectType, refer: Refer): JSONSchema {
  const fields = Object.values(type.getFields());
  const properties = fields.map((field) => [field.name, makeProperty(field, refer)] as const);
  return describe(
    {
      type: "object",
      properties: Object.fromEntries(properties),
      required: fields.filter(isRequiredInputField).map((field) => field.name),
      additionalProperties: false,
      ...(type.isOneOf ? { minProperties: 1, maxProperties: 1 } : {}),
    },
    [type.description],
  );
}

function describeFarType(type: Defined): JSONSchema {
  return describe({ type: isEnumType(type) ? "string" : "object" }, [
    `GraphQL type ${type.name}, checked at the call.`,
    type.description,
  ]);
}

function describe(schema: JSONSchema, parts: readonly (string | null | undefined | false)[]): JSONSchema {
  const text = quoteForeign(parts.filter(Boolean).join("\n\n"), MAX_DESCRIPTION_CHARACTERS);
  return text === "" ? schema : { ...schema, description: text };
}
