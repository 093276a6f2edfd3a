/**
 * The configuration of a module as data: checked against its schema, changed by JSON Patch. Pure; stores nothing.
 */
import { Ajv, type AnySchemaObject, type ErrorObject, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import jsonPatch, { type JsonPatchError, type Operation } from "fast-json-patch";
import type { JSONSchema } from "#sdk";
import { AppError, type ErrorIssue } from "../errors.ts";
import { type PatchOperation, splitPointer } from "./model.ts";

export const SETTINGS_LIMITS = { maxConfigBytes: 64 * 1024, maxIssues: 50 } as const;

export type Config = Record<string, unknown>;

/** A module without a schema has no settings: everything is refused, nothing ignored. */
export const NO_SETTINGS: JSONSchema = { type: "object", properties: {}, additionalProperties: false };

export interface Settings {
  /** What is wrong with a configuration, by `config.`-path; empty when it fits. */
  findIssues(config: Config): ErrorIssue[];
  /** JSON pointers of what does not fit, the shortest first. */
  findOutdated(config: Config): string[];
  /** A copy with the schema's defaults filled in: what `setup` gets. */
  applyDefaults(config: Config): Config;
}

/** Compiles a schema (draft 2020-12 unless its `$schema` says otherwise). Throws for a schema that is none. */
export function compileSettings(schema: JSONSchema): Settings {
  const check = compile(schema, false);
  const fill = compile(schema, true);
  return {
    findIssues: (config) => runCheck(check, config).slice(0, SETTINGS_LIMITS.maxIssues).map(describeIssue),
    findOutdated: (config) => [...new Set(runCheck(check, config).map(pointTo))].sort(byLength),
    applyDefaults(config) {
      const copy = structuredClone(config);
      fill(copy);
      return copy;
    },
  };
}

/**
 * Applies a patch to a copy. Throws AppError: `precondition_failed` when a `test` does not hold, `invalid_request`
 * when an operation cannot be applied or the result is no object or too large.
 */
export function patchConfig(config: Config, operations: readonly PatchOperation[]): Config {
  let document: unknown = structuredClone(config);
  for (const [index, operation] of operations.entries()) {
    document = applyOperation(document, operation, index);
    // After each operation: a chain of copies doubles the document every time.
    if (Buffer.byteLength(JSON.stringify(document) ?? "") > SETTINGS_LIMITS.maxConfigBytes) {
      throw refusePatch(
        index,
        `the configuration would be larger than ${SETTINGS_LIMITS.maxConfigBytes} bytes`,
      );
    }
  }
  if (document === null || typeof document !== "object" || Array.isArray(document)) {
    throw refusePatch(operations.length - 1, "the configuration would no longer be an object");
  }
  return document as Config;
}

function applyOperation(document: unknown, operation: PatchOperation, index: number): unknown {
  for (const path of "from" in operation ? [operation.from, operation.path] : [operation.path]) {
    if (namesNoElement(document, path)) throw refusePatch(index, ARRAY_INDEX_PROBLEM);
  }
  if (
    operation.op === "move" &&
    operation.path !== operation.from &&
    operation.path.startsWith(`${operation.from}/`)
  ) {
    throw refusePatch(index, "a value cannot be moved into itself");
  }
  try {
    return jsonPatch.applyOperation(document, operation as Operation, true, true, true, index).newDocument;
  } catch (error) {
    const name = (error as JsonPatchError).name;
    if (name === "TEST_OPERATION_FAILED") {
      throw new AppError(
        "precondition_failed",
        `The configuration is not what operation ${index} of the patch tests for. Read it again, then decide.`,
        { issues: [{ path: `body.${index}`, message: "the test does not hold" }] },
      );
    }
    throw refusePatch(index, PATCH_PROBLEMS[name] ?? "the operation cannot be applied at this path");
  }
}

const ARRAY_INDEX_PROBLEM = "an array element is named by its index, or by - for the end";

/** Whether a pointer leaves an array at something that is no index; the library takes 4294967295 for -1. */
function namesNoElement(document: unknown, path: string): boolean {
  let node = document;
  for (const segment of splitPointer(path)) {
    if (Array.isArray(node)) {
      if (segment !== "-" && (!/^(?:0|[1-9]\d{0,6})$/.test(segment) || Number(segment) > node.length))
        return true;
    }
    if (node === null || typeof node !== "object" || !Object.hasOwn(node, segment)) return false;
    node = (node as Record<string, unknown>)[segment];
  }
  return false;
}

const PATCH_PROBLEMS: Record<string, string> = {
  OPERATION_PATH_UNRESOLVABLE: 'there is no value at the path; use "add" to make one',
  OPERATION_FROM_UNRESOLVABLE: 'there is no value at "from"',
  OPERATION_PATH_CANNOT_ADD: "the parent of the path does not exist; add it first",
  OPERATION_PATH_ILLEGAL_ARRAY_INDEX: ARRAY_INDEX_PROBLEM,
  OPERATION_VALUE_OUT_OF_BOUNDS: "the array has no such index",
};

function refusePatch(index: number, problem: string): AppError {
  return new AppError("invalid_request", `Operation ${index} of the patch cannot be applied: ${problem}.`, {
    issues: [{ path: `body.${index}`, message: problem }],
  });
}

function compile(schema: JSONSchema, useDefaults: boolean): ValidateFunction {
  const dialect = typeof schema.$schema === "string" ? schema.$schema : "";
  const Dialect =
    dialect.includes("draft-07") || dialect.includes("draft-06")
      ? Ajv
      : dialect.includes("2019-09")
        ? Ajv2019
        : Ajv2020;
  const ajv = new Dialect({
    strict: false,
    allErrors: true,
    useDefaults,
    validateFormats: true,
    logger: false,
  });
  // Its types describe a CommonJS module; Node hands over the function itself.
  (ajvFormats as unknown as (instance: unknown) => void)(ajv);
  return ajv.compile(schema as AnySchemaObject);
}

function runCheck(check: ValidateFunction, config: Config): ErrorObject[] {
  return check(config) ? [] : (check.errors ?? []);
}

function describeIssue(error: ErrorObject): ErrorIssue {
  const path = ["config", ...pointTo(error).split("/").slice(1)].join(".");
  const allowed =
    error.keyword === "enum" ? `: ${JSON.stringify(error.params.allowedValues).slice(0, 200)}` : "";
  const message =
    error.keyword === "additionalProperties" ? "is not a setting of this module" : error.message;
  return { path, message: `${message ?? "is not valid"}${allowed}` };
}

/** The setting an error is about: for a surplus or lacking one, that one rather than the object around it. */
function pointTo(error: ErrorObject): string {
  const name =
    error.params.additionalProperty ?? error.params.unevaluatedProperty ?? error.params.missingProperty;
  if (typeof name !== "string") return error.instancePath;
  return `${error.instancePath}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function byLength(left: string, right: string): number {
  return left.length - right.length || (left < right ? -1 : 1);
}
