/**
 * A definition's data for calls: written by generate/ and read by call/. The host stores it as plain text, so it is
 * parsed when a service is hydrated.
 */
import { z } from "zod";

export const QUERY_STYLES = ["form", "spaceDelimited", "pipeDelimited", "deepObject"] as const;
export const PATH_STYLES = ["simple", "label", "matrix"] as const;
export const SLOTS = { path: "path", query: "query", header: "headers", cookie: "cookies" } as const;
export type ParameterPlace = keyof typeof SLOTS;

/** How a parameter or form field becomes text. Absent members have OpenAPI's default. */
const parameterPlan = z.object({
  in: z.enum(["path", "query", "header", "cookie"]),
  name: z.string(),
  style: z.enum([...QUERY_STYLES, ...PATH_STYLES]).optional(),
  explode: z.boolean().optional(),
  allowReserved: z.boolean().optional(),
  contentType: z.string().optional(),
});
export type ParameterPlan = z.infer<typeof parameterPlan>;

const fieldPlan = z.object({
  name: z.string(),
  /** True if the value is a file, or a list of files: `{filename, contentType, base64}`. */
  file: z.boolean().optional(),
  contentType: z.string().optional(),
  style: z.enum(QUERY_STYLES).optional(),
  explode: z.boolean().optional(),
  allowReserved: z.boolean().optional(),
});
export type FieldPlan = z.infer<typeof fieldPlan>;

export const BODY_KINDS = ["json", "form", "multipart", "text", "binary"] as const;
export type BodyKind = (typeof BODY_KINDS)[number];

const bodyPlan = z.object({
  kind: z.enum(BODY_KINDS),
  contentType: z.string(),
  fields: z.array(fieldPlan).optional(),
});
export type BodyPlan = z.infer<typeof bodyPlan>;

/**
 * Maximum number of referenced files to request: a document may name millions, and each request costs time on the
 * server's main thread. The host's limit is lower still.
 */
export const MAX_TRIED_FILES = 200;

const serverPlan = z.object({
  /** May be relative and contain `{name}` placeholders for its variables. */
  url: z.string(),
  base: z.string().optional(),
  variables: z.array(z.object({ name: z.string(), default: z.string().optional() })).optional(),
});
export type ServerPlan = z.infer<typeof serverPlan>;

/**
 * Alternatives in order of preference. Each lists schemes that are all required; an empty list allows a call without
 * credentials.
 */
const securityPlan = z.array(
  z.array(z.object({ scheme: z.string(), scopes: z.array(z.string()).optional() })),
);
export type SecurityPlan = z.infer<typeof securityPlan>;

const schemePlan = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("apiKey"),
    name: z.string(),
    in: z.enum(["header", "query", "cookie"]),
    parameter: z.string(),
  }),
  z.object({ kind: z.literal("bearer"), name: z.string() }),
  z.object({ kind: z.literal("basic"), name: z.string() }),
  z.object({ kind: z.literal("oauth2"), name: z.string(), tokenUrl: z.string().optional() }),
  z.object({ kind: z.literal("headers"), name: z.string() }),
  z.object({ kind: z.literal("unsupported"), name: z.string(), what: z.string() }),
]);
export type SchemePlan = z.infer<typeof schemePlan>;

export const toolDomainSchema = z.object({
  method: z.string(),
  path: z.string(),
  staticQuery: z.string().optional(),
  parameters: z.array(parameterPlan),
  body: bodyPlan.optional(),
  accept: z.string(),
  security: securityPlan.optional(),
  server: serverPlan.optional(),
});
export type ToolDomain = z.infer<typeof toolDomainSchema>;

export const serviceDomainSchema = z.object({
  version: z.literal(1),
  server: serverPlan,
  schemes: z.array(schemePlan),
  security: securityPlan,
});
export type ServiceDomain = z.infer<typeof serviceDomainSchema>;
