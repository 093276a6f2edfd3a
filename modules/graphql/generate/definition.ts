/** Reads a GraphQL definition and its schema. Everything in it is foreign and may be hostile. */
import {
  buildASTSchema,
  buildClientSchema,
  type DirectiveNode,
  type DocumentNode,
  type GraphQLSchema,
  getIntrospectionQuery,
  type IntrospectionOptions,
  type IntrospectionQuery,
  Kind,
  parse,
  print,
  printSchema,
  validateSchema,
  visit,
} from "graphql";
import { z } from "zod";
import { quoteForeign } from "#modules/shared/failures.ts";
import { type Endpoint, post } from "../call/endpoint.ts";
import { readEndpoint } from "../config.ts";
import { GraphqlFailure, messageOf } from "../failures.ts";

const MAX_SDL_TOKENS = 5_000_000;
const MAX_TYPES = 50_000;
/** Bounded because the server's main thread rebuilds this schema at a service's first call. */
const MAX_STORED_SDL_CHARACTERS = 4 * 1024 * 1024;

const introspectionSchema = z.looseObject({ __schema: z.looseObject({}) });

const definitionSchema = z.strictObject({
  endpoint: z.string().max(8192).optional(),
  introspection: z.union([introspectionSchema, z.looseObject({ data: introspectionSchema })]).optional(),
  sdl: z.string().min(1).optional(),
  name: z.string().min(1).max(200).optional(),
  description: z.string().max(4000).optional(),
});

/** A null schema is requested from the endpoint. */
export interface Definition {
  endpoint: string | null;
  schema: { kind: "sdl"; text: string } | { kind: "introspection"; result: unknown } | null;
  name: string | null;
  description: string | null;
}

const EXPECTED =
  'Expected one of: JSON {"endpoint": "https://...", "introspection"?: {...} or "sdl"?: "...", "name"?, "description"?}; the JSON answer to an introspection query; the schema in the schema language (SDL).';

/** @throws GraphqlFailure that says what was expected and what was found */
export function readDefinition(input: string): Definition {
  const text = input.replace(/^\uFEFF/, "").trim();
  if (text === "") throw refuse("it is empty");
  if (!text.startsWith("{") && !text.startsWith("[")) {
    return { endpoint: null, schema: { kind: "sdl", text }, name: null, description: null };
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // Only an introspection response or our own JSON starts with a brace.
    throw refuse("it starts like JSON but is not valid JSON");
  }
  const bare = unwrapIntrospection(json);
  if (bare !== null) {
    return { endpoint: null, schema: { kind: "introspection", result: bare }, name: null, description: null };
  }
  const parsed = definitionSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw refuse(`${issue?.path.join(".") || "the whole of it"}: ${issue?.message ?? "does not fit"}`);
  }
  const { endpoint, introspection, sdl, name, description } = parsed.data;
  if (introspection !== undefined && sdl !== undefined) {
    throw refuse("it has both introspection and sdl; only one of them can be the schema");
  }
  if (endpoint === undefined && introspection === undefined && sdl === undefined) {
    throw refuse("it has neither an endpoint nor a schema");
  }
  return {
    endpoint: endpoint === undefined ? null : readEndpoint(endpoint, "endpoint of the definition").href,
    schema:
      sdl !== undefined
        ? { kind: "sdl", text: sdl }
        : introspection !== undefined
          ? { kind: "introspection", result: unwrapIntrospection(introspection) }
          : null,
    name: name ?? null,
    description: description ?? null,
  };
}

/** Returns the `{__schema}` of an introspection response, with or without its `data`, or null for anything else. */
export function unwrapIntrospection(json: unknown): unknown {
  for (const candidate of [json, (json as { data?: unknown } | null)?.data]) {
    if (introspectionSchema.safeParse(candidate).success) return candidate;
  }
  return null;
}

/** A usable schema, and the text without descriptions from which it can be rebuilt. */
export interface LoadedSchema {
  schema: GraphQLSchema;
  sdl: string;
}

/** @throws GraphqlFailure with the first few problems of an invalid schema */
export function loadSchema(source: NonNullable<Definition["schema"]>): LoadedSchema {
  try {
    const schema = source.kind === "sdl" ? buildFromText(source.text) : buildFromIntrospection(source.result);
    requireValid(schema);
    const document = withoutForeignDirectives(parse(printSchema(schema), { noLocation: true }));
    const sdl = print(withoutDescriptions(document));
    if (sdl.length > MAX_STORED_SDL_CHARACTERS) {
      throw new Error(`without its descriptions it is longer than ${MAX_STORED_SDL_CHARACTERS} characters.`);
    }
    return { schema, sdl };
  } catch (error) {
    if (error instanceof GraphqlFailure) throw error;
    throw new GraphqlFailure("graphql_bad_definition", `The schema cannot be used: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function buildFromText(text: string): GraphQLSchema {
  const document = withoutForeignDirectives(parse(text, { noLocation: true, maxTokens: MAX_SDL_TOKENS }));
  refuseTooManyTypes(document.definitions.length);
  // Published schemas, such as GitHub's, repeat definitions: the last one counts. The schema itself is checked later.
  return buildASTSchema(document, { assumeValidSDL: true });
}

function buildFromIntrospection(result: unknown): GraphQLSchema {
  const introspection = result as IntrospectionQuery;
  refuseTooManyTypes(introspection.__schema.types?.length ?? 0);
  return buildClientSchema(introspection);
}

export function rebuildSchema(sdl: string): GraphQLSchema {
  return buildASTSchema(parse(sdl, { noLocation: true }), { assumeValid: true, assumeValidSDL: true });
}

const MEANINGFUL_DIRECTIVES = new Set(["deprecated", "specifiedBy", "oneOf"]);

/** Schemas use directives of their tools and gateways, often undeclared; callers do not need them. */
function withoutForeignDirectives(document: DocumentNode): DocumentNode {
  return visit(document, {
    [Kind.DIRECTIVE]: (node: DirectiveNode) =>
      MEANINGFUL_DIRECTIVES.has(node.name.value) ? undefined : null,
    [Kind.DIRECTIVE_DEFINITION]: () => null,
  });
}

function withoutDescriptions(document: DocumentNode): DocumentNode {
  return visit(document, {
    enter: (node) =>
      "description" in node && node.description !== undefined
        ? { ...node, description: undefined }
        : undefined,
  });
}

const MAX_PROBLEMS_SHOWN = 3;

function requireValid(schema: GraphQLSchema): void {
  // This rule is newer than many schemas and irrelevant to callers.
  const isHarmless = (message: string) => message.endsWith("must not be deprecated.");
  const problems = validateSchema(schema).filter(({ message }) => !isHarmless(message));
  if (problems.length === 0) return;
  const shown = problems.slice(0, MAX_PROBLEMS_SHOWN).map(({ message }) => message);
  const more = problems.length - shown.length;
  throw new Error(`${shown.join(" ")}${more > 0 ? ` And ${more} more problems.` : ""}`);
}

function refuseTooManyTypes(count: number): void {
  if (count <= MAX_TYPES) return;
  throw new GraphqlFailure(
    "graphql_bad_definition",
    `The schema cannot be used: it has ${count} types; the limit is ${MAX_TYPES}.`,
  );
}

function refuse(problem: string): GraphqlFailure {
  return new GraphqlFailure(
    "graphql_bad_definition",
    `The definition cannot be used: ${problem}. ${EXPECTED}`,
  );
}

/** Introspection options to try in order: everything that newer servers support, then the oldest form. */
const ATTEMPTS: IntrospectionOptions[] = [
  { descriptions: true, specifiedByUrl: true, inputValueDeprecation: true, oneOf: true },
  { descriptions: true },
];

/** Returns the `{__schema}` of the endpoint's response. @throws GraphqlFailure */
export async function introspect(endpoint: Endpoint): Promise<unknown> {
  let refusal = "it returned no schema";
  for (const options of ATTEMPTS) {
    const { data, errors, status } = await post(endpoint, {
      query: getIntrospectionQuery(options),
      operationName: "IntrospectionQuery",
    });
    const result = unwrapIntrospection(data);
    if (result !== null) return result;
    if (status === 401 || status === 403) {
      throw new GraphqlFailure("graphql_refused", `The endpoint answered ${status}: ${firstOf(errors)}`, {
        status,
      });
    }
    if (errors.length > 0) refusal = firstOf(errors);
  }
  throw new GraphqlFailure(
    "graphql_bad_definition",
    `The endpoint does not show its schema: ${refusal}. If introspection is disabled, put "sdl" or "introspection" into the definition.`,
  );
}

function firstOf(errors: { message: string }[]): string {
  return quoteForeign(errors[0]?.message ?? "no text");
}
