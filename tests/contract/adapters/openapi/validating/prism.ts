/** The parts of Prism that are used, which it exports without types or from inner files. */
import { createRequire } from "node:module";

export interface PrismRequest {
  method: string;
  url: { path: string; query: Record<string, string | string[]> };
  headers: Record<string, string>;
  body?: unknown;
}

export interface PrismMedia {
  mediaType: string;
  schema?: PrismSchema;
  encodings?: { property: string; style?: string; explode?: boolean }[];
}

export interface PrismSchema {
  type?: string;
  $ref?: string;
  properties?: Record<string, PrismSchema>;
}

export interface PrismOperation {
  method: string;
  path: string;
  responses?: unknown;
  request?: {
    path?: object[] | undefined;
    body?: { required?: boolean; contents?: PrismMedia[] } | undefined;
  };
  __bundled__?: Record<string, PrismSchema>;
}

export interface Diagnostic {
  message: string;
  /** 0 is an error; warnings (a deprecated parameter was used) are none of ours. */
  severity: number;
  path?: string[];
}

type Either<L> = { _tag: "Left"; left: L } | { _tag: "Right" };
type Deserialiser = (name: string, fields: object, schema: PrismSchema, explode?: boolean) => unknown;

const require = createRequire(import.meta.url);
const VALIDATOR = "@stoplight/prism-http/dist/validator";

export const { transformOas2Operations } = require("@stoplight/http-spec/oas2/operation") as {
  transformOas2Operations(document: object): PrismOperation[];
};
export const { transformOas3Operations } = require("@stoplight/http-spec/oas3/operation") as {
  transformOas3Operations(document: object): PrismOperation[];
};
export const { validateInput, validateSecurity } = require(`${VALIDATOR}/index.js`) as Record<
  "validateInput" | "validateSecurity",
  (input: { resource: object; element: PrismRequest }) => Either<Diagnostic[]>
>;
export const { validatePath } = require(`${VALIDATOR}/validators/index.js`) as {
  validatePath(values: object, parameters: object[], context: number, bundle: unknown): Either<Diagnostic[]>;
};
export const { validateAgainstSchema } = require(`${VALIDATOR}/validators/utils.js`) as {
  validateAgainstSchema(
    value: unknown,
    schema: object,
    coerce: boolean,
    context: string,
    prefix: string,
    bundle: unknown,
  ): { _tag: "None" } | { _tag: "Some"; value: Diagnostic[] };
};
export const { body: bodyDeserialisers } = require(`${VALIDATOR}/deserializers/index.js`) as {
  body: Record<string, Deserialiser>;
};
export const { default: route } = require("@stoplight/prism-http/dist/router/index.js") as {
  default(input: {
    resources: PrismOperation[];
    input: PrismRequest;
  }): Either<Error> & { right?: PrismOperation };
};
export const { bundleTarget } = createRequire(require.resolve("@stoplight/prism-http"))(
  "@stoplight/json",
) as {
  bundleTarget(input: { document: object; path: string; cloneDocument: boolean }): PrismOperation;
};
