import { z } from "zod";
import type { JSONSchema } from "#sdk";

const MIB = 1024 * 1024;

const header = z.record(z.string().min(1).max(200), z.string().max(8192));

export const httpConfigFields = {
  timeoutMs: z
    .int()
    .min(1)
    .max(3_600_000)
    .default(60_000)
    .describe("Time limit of one call; the server's limit for every tool call also applies."),
  maxResponseBytes: z
    .int()
    .min(1024)
    .max(64 * MIB)
    .default(8 * MIB)
    .describe(
      "Size limit of the response to one call, after decompression, including everything sent with it.",
    ),
  headers: header
    .default({})
    .describe("Headers of every request. Put confidential values into the secrets instead."),
};

export const httpSecretsSchema = z.strictObject({
  bearerToken: z.string().min(1).max(8192).optional().describe("Sent as `Authorization: Bearer <token>`."),
  headers: header.optional().describe("Headers of every request, such as `X-Api-Key`."),
});
export type HttpSecrets = z.infer<typeof httpSecretsSchema>;

/** Returns the JSON Schema of the settings that operators write, in which defaults are optional. */
export function toSettingsSchema(schema: z.ZodType): JSONSchema {
  return z.toJSONSchema(schema, { io: "input" });
}

/** Creates the adapter's error from a message about a setting. */
export type Refuse = (problem: string) => Error;

/** Validates stored settings. Errors name the setting, never its value. */
export function readSettings<T>(schema: z.ZodType<T>, raw: unknown, what: string, refuse: Refuse): T {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = [what, ...(issue?.path ?? []).map(String)].join(".");
  const problem = issue?.code === "invalid_type" ? `expected ${issue.expected}` : "does not match its schema";
  throw refuse(`${path}: ${problem}. See GET /services/:id/${what}/schema.`);
}

/** Returns why requests cannot go to the URL, or null. */
export function findUrlProblem(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    return "expected an http or https URL";
  }
  if (url.username === "" && url.password === "") return null;
  return "a URL must not contain credentials; put them into the service's secrets";
}

/** Headers that belong to HTTP: setting them would break or redirect a request. */
const HTTP_HEADERS =
  "accept connection content-length content-type expect host keep-alive te trailer transfer-encoding upgrade".split(
    " ",
  );

/**
 * Returns the headers of every request, in lower case. Secret headers override configured ones. `own` lists headers
 * of the adapter's protocol. Errors name a header that cannot be set, never its value.
 */
export function makeHeaders(
  config: { headers?: Record<string, string> },
  secrets: HttpSecrets,
  refuse: Refuse,
  own: readonly string[] = [],
): Record<string, string> {
  const headers: Record<string, string> = {};
  const add = (where: string, name: string, value: string) => {
    const key = name.toLowerCase();
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(key)) {
      throw refuse(`${where}: ${JSON.stringify(name)} is not the name of a header.`);
    }
    if (HTTP_HEADERS.includes(key) || own.includes(key)) {
      throw refuse(`${where}: the header ${key} is set by this adapter; remove it.`);
    }
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw refuse(
        `${where}: the value of ${key} has characters that are not allowed in headers, such as a line break.`,
      );
    }
    headers[key] = value;
  };
  for (const [name, value] of Object.entries(config.headers ?? {})) add("config.headers", name, value);
  if (secrets.bearerToken !== undefined)
    add("secrets.bearerToken", "authorization", `Bearer ${secrets.bearerToken}`);
  for (const [name, value] of Object.entries(secrets.headers ?? {})) add("secrets.headers", name, value);
  return headers;
}
