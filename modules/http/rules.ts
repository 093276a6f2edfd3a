import { z } from "zod";
import { findPathProblem, isBelow } from "#modules/shared/fetch-scope.ts";
import { IDENTIFIER_PATTERN } from "#sdk";
import { DefinitionError } from "./failures.ts";
import { findHeaderProblem, foldHeader, HEADER_NAME, isReservedHeader } from "./headers.ts";

const MIB = 1024 * 1024;
const MAX_RULES = 100;
export const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] as const;
/** Methods that change nothing on a server that follows the standard. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

const headerName = z.string().regex(HEADER_NAME, "expected the name of a header").max(100);

const originSchema = z
  .string()
  .max(300)
  .transform((text, context) => {
    const origin = readOrigin(text);
    if (typeof origin === "string") return origin;
    context.addIssue({ code: "custom", message: origin.problem });
    return z.NEVER;
  });

const pathPrefixSchema = z
  .string()
  .max(2000)
  .superRefine((text, context) => {
    const problem = findPrefixProblem(text);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  });

const authSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("bearer") }),
  z.strictObject({ type: z.literal("basic") }),
  z.strictObject({ type: z.literal("header"), name: headerName }),
  z.strictObject({ type: z.literal("query"), name: z.string().min(1).max(100) }),
]);
export type Auth = z.infer<typeof authSchema>;

export const ruleSchema = z.strictObject({
  name: z
    .string()
    .regex(IDENTIFIER_PATTERN, "expected an identifier: letters, digits, _ and $, not starting with a digit")
    .max(100)
    .refine((name) => name !== "__proto__", "this name cannot be used"),
  description: z.string().max(2000).optional(),
  origins: z.array(originSchema).min(1).max(20),
  pathPrefix: pathPrefixSchema.default("/"),
  methods: z.array(z.enum(METHODS)).min(1),
  auth: authSchema.optional(),
  headers: z.record(headerName, z.string().max(2000)).default({}),
  maxRequestBytes: z
    .int()
    .min(0)
    .max(64 * MIB)
    .default(MIB),
  maxResponseBytes: z
    .int()
    .min(0)
    .max(64 * MIB)
    .default(8 * MIB),
  redirects: z.enum(["none", "same-origin"]).default("none"),
});
export type Rule = z.infer<typeof ruleSchema>;

const definitionSchema = z.strictObject({
  name: z.string().min(1).max(200).default("HTTP"),
  description: z.string().max(4000).optional(),
  rules: z.array(ruleSchema).max(MAX_RULES),
});
export type Definition = z.infer<typeof definitionSchema>;

/** @throws DefinitionError */
export function readDefinition(text: string): Definition {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new DefinitionError(`The definition is not JSON: ${(error as Error).message}.`);
  }
  const parsed = definitionSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new DefinitionError(`${placeOf(value, issue?.path ?? [])}: ${issue?.message}.`);
  }
  const definition = parsed.data;
  for (const [index, rule] of definition.rules.entries()) {
    checkRule(rule);
    for (const earlier of definition.rules.slice(0, index)) checkPair(earlier, rule);
  }
  return definition;
}

/** Identifies a rule by its name if it has one: `rules.read.origins.0`. */
function placeOf(value: unknown, path: readonly PropertyKey[]): string {
  const [list, index, ...rest] = path;
  if (list !== "rules" || index === undefined) return path.map(String).join(".") || "the definition";
  const rule = (value as { rules: { name?: unknown }[] }).rules[index as number];
  const name = typeof rule?.name === "string" ? rule.name.slice(0, 100) : String(index);
  return ["rules", name, ...rest.map(String)].join(".");
}

function readOrigin(text: string): string | { problem: string } {
  if (text.includes("*"))
    return { problem: "an origin cannot contain *: list each host that requests may be sent to" };
  const url = /[\0-\x20\x7f\\]/.test(text) ? null : URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return { problem: "expected an origin such as https://api.example.com" };
  }
  if (url.username !== "" || url.password !== "")
    return { problem: "credentials belong in the secrets: see auth" };
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") {
    return { problem: "an origin is a scheme, a host and a port; put a path into pathPrefix" };
  }
  if (url.hostname.endsWith(".")) return { problem: "a host name must not end with a dot" };
  return url.origin;
}

function findPrefixProblem(text: string): string | null {
  if (!text.startsWith("/")) return "a path must begin with a slash";
  const problem = findPathProblem(text);
  if (problem !== null) return `it ${problem}`;
  const { pathname, search, hash } = new URL(`https://host.invalid${text}`);
  if (search !== "" || hash !== "" || /[?#]/.test(text)) return "a path cannot contain ? or #";
  return pathname === text ? null : `write it as in a URL: ${pathname}`;
}

function checkRule({ name, auth, origins, headers }: Rule): void {
  const insecure = origins.find((origin) => origin.startsWith("http:"));
  if (auth !== undefined && insecure !== undefined) {
    throw new DefinitionError(
      `rules.${name}.origins: ${insecure} is not encrypted, and the rule sends a credential. Use https.`,
    );
  }
  if (auth?.type === "header") {
    // Scripts cannot set these two, but a credential may be one of them.
    const isOfProtocol = isReservedHeader(auth.name) && !/^(authorization|cookie)$/i.test(auth.name);
    if (isOfProtocol) {
      throw new DefinitionError(
        `rules.${name}.auth.name: the header ${auth.name} belongs to HTTP and cannot be set.`,
      );
    }
  }
  const known = new Set(auth?.type === "header" ? [foldHeader(auth.name)] : []);
  for (const [header, value] of Object.entries(headers)) {
    const problem = findHeaderProblem(header, value);
    if (problem !== null) throw new DefinitionError(`rules.${name}.headers: ${problem}`);
    if (known.has(foldHeader(header))) {
      throw new DefinitionError(
        `rules.${name}.headers: ${header} appears twice or is the rule's credential.`,
      );
    }
    known.add(foldHeader(header));
  }
}

/** A request that matches two rules is rejected, so no two rules may overlap. */
function checkPair(one: Rule, other: Rule): void {
  if (one.name === other.name) throw new DefinitionError(`Two rules have the name ${one.name}.`);
  const origin = one.origins.find((known) => other.origins.includes(known));
  const method = one.methods.find((known) => other.methods.includes(known));
  const [outer, inner] =
    one.pathPrefix.length <= other.pathPrefix.length
      ? [one.pathPrefix, other.pathPrefix]
      : [other.pathPrefix, one.pathPrefix];
  if (origin === undefined || method === undefined || !isBelow(inner, outer)) return;
  throw new DefinitionError(
    `The rules ${one.name} and ${other.name} both allow ${method} ${origin}${inner}. A request may fit only one rule: narrow or remove one.`,
  );
}

export function isDestructive({ methods }: Rule): boolean {
  return methods.some((method) => !SAFE_METHODS.has(method));
}
