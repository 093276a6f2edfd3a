/**
 * Compiles validators for tool parameters and describes their errors. Used by the server's validation thread and the
 * local runtime.
 */
import type { ErrorObject } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import type { JSONSchema } from "#sdk";
import { fitsWithIntegers } from "./exact-parameters.ts";
import { compilePattern, requirePattern } from "./linear-pattern.ts";

const MAX_ISSUES = 10;
const MAX_NAMES = 30;
const MAX_VALUES_CHARACTERS = 300;
const MAX_LISTED_ISSUES = 5;

export interface ParameterIssue {
  path: string;
  message: string;
}

/**
 * `parameters` converts strings of digits to integers where the schema says `integer`; `answer` does not. Both accept
 * bigints for integers. `strict` fills in no defaults and requires a schema that Ajv can check completely.
 */
export type CheckKind = "parameters" | "answer" | "strict";

export interface ParameterCheck {
  /** Fills in defaults in place and returns whether the parameters are valid. */
  fits(parameters: Record<string, unknown>): boolean;
  /** A faster check without support for bigints and strings of digits, sufficient for most parameters. */
  fitsPlainly(parameters: Record<string, unknown>): boolean;
  listIssues(): ParameterIssue[];
}

/**
 * The schema must be trusted or limited by `readSchema`. Throws if Ajv cannot compile it or, in a strict check, if
 * RE2 does not support one of its patterns.
 */
export function compileCheck(schema: JSONSchema, kind: CheckKind = "parameters"): ParameterCheck {
  const isStrict = kind === "strict";
  const regExp = isStrict ? requirePattern : compilePattern;
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    allErrors: true,
    verbose: true,
    useDefaults: !isStrict,
    // Without this, every object would have a property such as `constructor`.
    ownProperties: true,
    logger: false,
    // Longer reference chains compile to calls, because inlining multiplies the code.
    inlineRefs: 20,
    // JSON parses 1e400 as Infinity, which would be sent as null.
    strictNumbers: true,
    code: { regExp: Object.assign(regExp, { code: regExp.name }) as never },
  });
  // ajv-formats types its CommonJS exports, but Node imports the function itself.
  (ajvFormats as unknown as (instance: unknown, options: unknown) => void)(ajv, { mode: "fast" });
  const validate = ajv.compile(schema);
  const fits = isStrict ? validate : fitsWithIntegers.bind(null, validate, kind === "parameters");
  return { fits, fitsPlainly: validate, listIssues: () => describeIssues(validate.errors ?? []) };
}

export function describeMismatch(path: string, issues: readonly ParameterIssue[]): string {
  const listed = issues.slice(0, MAX_LISTED_ISSUES).map((issue) => `${issue.path} ${issue.message}`);
  const more = issues.length > listed.length ? ` (and ${issues.length - listed.length} more)` : "";
  return `The parameters of ${path} are invalid: ${listed.join("; ")}${more}.`;
}

function describeIssues(errors: readonly ErrorObject[]): ParameterIssue[] {
  const issues = new Map<string, ParameterIssue>();
  for (const error of errors) {
    const issue = describeIssue(error);
    issues.set(`${issue.path} ${issue.message}`, issue);
    if (issues.size >= MAX_ISSUES) break;
  }
  return [...issues.values()];
}

function describeIssue(error: ErrorObject): ParameterIssue {
  const { keyword, params } = error;
  const path = toPath(error.instancePath);
  switch (keyword) {
    case "required":
      return { path: `${path}${member(params.missingProperty)}`, message: "is missing" };
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = params.additionalProperty ?? params.unevaluatedProperty;
      const known = Object.keys((error.parentSchema?.properties as object | undefined) ?? {});
      const list = known.length === 0 ? "" : `; known are ${known.slice(0, MAX_NAMES).join(", ")}`;
      return { path: `${path}${member(name)}`, message: `is not a known name${list}` };
    }
    case "type":
      return { path, message: `must be ${[params.type].flat().join(" or ")}, found ${nameType(error.data)}` };
    case "enum":
      return { path, message: `must be one of ${list(params.allowedValues)}` };
    case "const":
      return { path, message: `must be ${list([params.allowedValue])}` };
    case "false schema":
      return { path, message: "must not be given" };
    default:
      return { path, message: error.message ?? "does not match the schema" };
  }
}

function nameType(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function list(values: unknown[]): string {
  const text = values.map((value) => JSON.stringify(value)).join(", ");
  return text.length > MAX_VALUES_CHARACTERS ? `${text.slice(0, MAX_VALUES_CHARACTERS)}...` : text;
}

function toPath(pointer: string): string {
  const segments = pointer.split("/").slice(1);
  return segments.reduce(
    (path, segment) => path + member(segment.replaceAll("~1", "/").replaceAll("~0", "~")),
    "parameters",
  );
}

function member(name: unknown): string {
  const text = String(name).slice(0, 200);
  if (/^\d+$/.test(text)) return `[${text}]`;
  return /^[A-Za-z_$][\w$]*$/.test(text) ? `.${text}` : `[${JSON.stringify(text)}]`;
}
