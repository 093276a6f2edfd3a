import { z } from "zod";
import { ERROR_CATALOGUE, type ErrorCode } from "../errors.ts";

const errorCodes = Object.keys(ERROR_CATALOGUE) as [ErrorCode, ...ErrorCode[]];

export const errorSchema = z
  .object({
    error: z.string().describe("What was expected, what was found, what to do."),
    code: z.enum(errorCodes).describe("Machine-readable; docs/errors.md lists all codes."),
    requestId: z.string().describe("Also in the header `x-request-id` and in the server log."),
    issues: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .describe("Why the request is invalid, by path (`body.options.timeout`)."),
  })
  .meta({ id: "Error" });

const ALWAYS: ErrorCode[] = [
  "unauthorized",
  "forbidden",
  "rate_limited",
  "internal_error",
  "database_unavailable",
];

export const BODY_ERRORS = [
  "invalid_json",
  "invalid_request",
  "body_too_large",
  "unsupported_media_type",
  "too_many_bodies",
  "server_busy",
  "shutting_down",
] as const satisfies ErrorCode[];

export interface ErrorResponse {
  description: string;
  content: { "application/json": { schema: typeof errorSchema } };
}

/**
 * Returns response schemas by status for a route that may fail with these codes. Spread them into `schema.response`.
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

export function describeCodes(codes: readonly ErrorCode[]): string {
  return `Error: ${codes.join(", ")}`;
}
