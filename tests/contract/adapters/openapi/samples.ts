/** Parameters made from a tool's input schema by a generator, and the validators the host would use. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { type GenerateOptions, generate } from "json-schema-faker";
import type { JSONSchema, ToolDefinition } from "#sdk";

/** Compiles as a host would: unknown keywords and formats are no errors, broken ones are. */
export function compile(schema: JSONSchema): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, allErrors: false, logger: false, validateFormats: true });
  (addFormats as unknown as (target: Ajv2020) => void)(ajv);
  return ajv.compile(schema);
}

/** The schema with `oneOf` where it says `anyOf`: only one alternative may fit. A property may be named `anyOf` too. */
export function excludeEachOther(schema: JSONSchema): JSONSchema {
  const text = JSON.stringify(schema, (_key, value: unknown) => {
    if (typeof value !== "object" || value === null || !("anyOf" in value)) return value;
    const { anyOf, ...rest } = value;
    return Array.isArray(anyOf) ? { ...rest, oneOf: anyOf } : value;
  });
  return JSON.parse(text) as JSONSchema;
}

export interface Sample {
  parameters: Record<string, unknown>;
  /** Why the generator's values do not fit the schema they were made from. */
  misfit: string | null;
}

const SEEDS = [1, 2, 3, 5];

/** From full and filled to bare: the first values that fit are taken. */
const MANNERS: GenerateOptions[] = [
  { optionalsProbability: 1, minItems: 1, minLength: 1 },
  { optionalsProbability: 1 },
  { optionalsProbability: 0, minItems: 1, minLength: 1 },
  { optionalsProbability: 0 },
];

const FORMATS = { url: () => "https://example.org/path" };

export async function makeSample(tool: ToolDefinition, validate: ValidateFunction): Promise<Sample> {
  let misfit = "";
  for (const manner of MANNERS) {
    for (const seed of SEEDS) {
      const parameters = await sampleOf(tool.inputSchema, { ...manner, seed });
      if (parameters instanceof Error) misfit = parameters.message;
      else if (validate(parameters)) return { parameters, misfit: null };
      else misfit = explain(validate);
    }
  }
  return { parameters: {}, misfit };
}

async function sampleOf(
  schema: JSONSchema,
  options: GenerateOptions,
): Promise<Record<string, unknown> | Error> {
  try {
    const bounds = { formats: FORMATS, maxDefaultItems: 2, refDepthMax: 4, maxDepth: 12 };
    const sample = (await generate(schema, { ...bounds, ...options })) as Record<string, unknown>;
    // The generator's value for a schema that says nothing; no server takes it for a body.
    return sample.body === null ? { ...sample, body: {} } : sample;
  } catch (error) {
    return error as Error;
  }
}

export function explain(validate: ValidateFunction): string {
  const [error] = validate.errors ?? [];
  return error === undefined ? "" : `${error.instancePath} ${error.message}`;
}
