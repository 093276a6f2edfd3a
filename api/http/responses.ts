/** The error answers of a route, for its schema: what the OpenAPI document says about failures comes from here. */
import { z } from "zod";
import { ERROR_CATALOGUE, type ErrorCode } from "../errors.ts";

const errorCodes = Object.keys(ERROR_CATALOGUE) as [ErrorCode, ...ErrorCode[]];

/** What every error answer looks like. */
export const errorSchema = z
  .object({
    error: z.string().describe("A sentence for a person: what was expected, what was found, what to do."),
    code: z.enum(errorCodes).describe("A word for a program; the catalogue is docs/errors.md."),
    requestId: z.string().describe("Also in the header x-request-id, and in the server log."),
    issues: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .describe("What is wrong with a request, by path (`body.options.timeout`)."),
  })
  .meta({ id: "Error" });

/** What any route may answer, besides its own codes. */
const ALWAYS: ErrorCode[] = [
  "unauthorized",
  "forbidden",
  "rate_limited",
  "internal_error",
  "database_unavailable",
];

/** What any route with a body may answer on top. */
export const BODY_ERRORS = [
  "invalid_json",
  "invalid_request",
  "body_too_large",
  "unsupported_media_type",
  "too_many_bodies",
  "server_busy",
  "shutting_down",
] as const satisfies ErrorCode[];

/** One error answer of a route as fastify's `schema.response` takes it. */
export interface ErrorResponse {
  description: string;
  content: { "application/json": { schema: typeof errorSchema } };
}

/**
 * Response schemas by status for a route that may end with these codes: spread into `schema.response` beside 200.
 * `unauthorized`, `forbidden`, `rate_limited`, `internal_error` and `database_unavailable` are always included.
 */
export function errorResponses(...codes: ErrorCode[]): Record<number, ErrorResponse> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set([...ALWAYS, ...codes])) {
    const { status } = ERROR_CATALOGUE[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      { description: describeCodes(group), content: { "application/json": { schema: errorSchema } } },
    ]),
  );
}

/** The description of an error answer in the OpenAPI document: the codes it may carry. */
export function describeCodes(codes: readonly ErrorCode[]): string {
  return `Error: ${codes.join(", ")}`;
}
