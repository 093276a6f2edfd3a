/** GitHub's schema, as published: every tool that is made of it is called on a server with the same schema. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import {
  buildClientSchema,
  buildSchema,
  type GraphQLOutputType,
  type GraphQLSchema,
  isAbstractType,
  isCompositeType,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
  parse,
  validate,
} from "graphql";
import { createSchema, createYoga } from "graphql-yoga";
import { expect, test } from "vitest";
import type { JSONSchema } from "#sdk";
import { hostGraphql, serve } from "#tests/contract/adapters/graphql/host.ts";

const FOLDER = path.resolve(import.meta.dirname, "../node_modules/@octokit/graphql-schema");

test("GitHub's SDL: every operation is imported, called and accepted", { timeout: 300_000 }, async () => {
  const text = readFileSync(path.join(FOLDER, "schema.graphql"), "utf8");
  await using host = await hostGraphql();
  const startedAt = performance.now();
  const made = await host.adapter.generateDefinition(text);
  const readMs = Math.round(performance.now() - startedAt);

  const { sdl } = made.adapterDomain as { sdl: string };
  const schema = buildSchema(sdl, { assumeValid: true });
  const typeDefs = { typeDefs: sdl, resolvers: answerEverything(schema), assumeValid: true };
  await using server = await serve(
    createYoga({ schema: createSchema(typeDefs), logging: false, maskedErrors: false }),
  );
  await host.install("github", text, { config: { endpoint: server.url } });

  const refused: string[] = [];
  const misdescribed: string[] = [];
  for (const { id, inputSchema, outputSchema } of made.tools) {
    const ajv = new Ajv2020({ strict: false });
    const parameters = sample(inputSchema, inputSchema) as object;
    if (!ajv.validate(inputSchema, parameters)) misdescribed.push(`${id} input: ${ajv.errorsText()}`);
    try {
      const answer = await host.call("github", id, parameters);
      if ((answer as { errors?: unknown }).errors)
        refused.push(`${id}: ${JSON.stringify(answer).slice(0, 300)}`);
      if (!ajv.validate(outputSchema, answer)) misdescribed.push(`${id} output: ${ajv.errorsText()}`);
    } catch (error) {
      refused.push(`${id}: ${(error as Error).message.slice(0, 300)}`);
    }
  }
  const operations = listOperations(schema);
  const accepted = made.tools.length - refused.length;
  console.log(
    `graphql GitHub SDL: operations ${operations.length}, imported ${made.tools.length}, called ${made.tools.length}, accepted ${accepted}; read in ${readMs} ms`,
  );
  expect(refused.slice(0, 5)).toEqual([]);
  expect(misdescribed.slice(0, 5)).toEqual([]);
  expect(made.tools).toHaveLength(operations.length);
  expect(operations.length).toBeGreaterThan(250);
});

test("GitHub's introspection answer: every operation is imported, and valid", {
  timeout: 120_000,
}, async () => {
  const text = readFileSync(path.join(FOLDER, "schema.json"), "utf8");
  await using host = await hostGraphql();
  const made = await host.adapter.generateDefinition(text);
  const schema = buildClientSchema(JSON.parse(text).data ?? JSON.parse(text), { assumeValid: true });
  const invalid = made.tools.filter(({ adapterDomain }) => {
    const { document } = adapterDomain as { document: string };
    return validate(schema, parse(document)).length > 0;
  });
  console.log(
    `graphql GitHub introspection: operations ${listOperations(schema).length}, imported ${made.tools.length}, valid ${made.tools.length - invalid.length}`,
  );
  expect(invalid.map((tool) => tool.id)).toEqual([]);
  expect(made.tools).toHaveLength(listOperations(schema).length);
});

function listOperations(schema: GraphQLSchema): string[] {
  return [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
    Object.keys(type?.getFields() ?? {}),
  );
}

type Resolvers = Record<string, Record<string, () => unknown>>;

/** Every field gets a value of its type: the operation decides what is asked for. */
function answerEverything(schema: GraphQLSchema): Resolvers {
  const resolvers: Resolvers = {};
  for (const type of Object.values(schema.getTypeMap())) {
    if (isAbstractType(type))
      resolvers[type.name] = { __resolveType: () => schema.getPossibleTypes(type)[0]?.name };
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    const fields = Object.values(type.getFields());
    resolvers[type.name] = Object.fromEntries(
      fields.map((field) => [field.name, () => makeValue(field.type)]),
    );
  }
  return resolvers;
}

const SCALARS: Record<string, unknown> = { Int: 1, Float: 1.5, Boolean: true };

function makeValue(type: GraphQLOutputType): unknown {
  if (isNonNullType(type)) return makeValue(type.ofType);
  if (isListType(type)) return [makeValue(type.ofType)];
  if (isEnumType(type)) return type.getValues()[0]?.value;
  return isCompositeType(type) ? {} : (SCALARS[type.name] ?? "text");
}

/** The least that fits a schema of this adapter. */
function sample(schema: JSONSchema, root: JSONSchema): unknown {
  const {
    $ref,
    anyOf,
    type,
    properties,
    required,
    enum: values,
  } = schema as {
    $ref?: string;
    anyOf?: JSONSchema[];
    type?: string | string[];
    properties?: Record<string, JSONSchema>;
    required?: string[];
    enum?: unknown[];
  };
  if ($ref !== undefined)
    return sample((root.$defs as Record<string, JSONSchema>)[$ref.slice("#/$defs/".length)] ?? {}, root);
  if (anyOf?.[0] !== undefined) return sample(anyOf[0], root);
  if (values !== undefined) return values[0];
  if (schema.minProperties === 1) {
    const [name, first] = Object.entries(properties ?? {})[0] ?? ["", {}];
    return { [name]: sample(first, root) };
  }
  if (type === "object") {
    return Object.fromEntries((required ?? []).map((name) => [name, sample(properties?.[name] ?? {}, root)]));
  }
  if (type === "array") return [sample((schema.items as JSONSchema | undefined) ?? {}, root)];
  return { integer: 1, number: 1.5, boolean: true }[String(type)] ?? "text";
}
