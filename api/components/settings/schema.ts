import { Ajv, type AnySchemaObject, type ErrorObject, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import type { ErrorIssue } from "#api/errors.ts";
import { compilePattern } from "#kernel/linear-pattern.ts";
import type { JSONSchema } from "#sdk";
import type { Owner } from "../ports.ts";

const MAX_ISSUES = 50;

export type Config = Record<string, unknown>;

/** For components without a schema: they have no settings, so any setting is an error. */
export const NO_SETTINGS: JSONSchema = { type: "object", properties: {}, additionalProperties: false };

export type SettingsKind = "config" | "secrets";

export interface SettingsSubject {
  place: SettingsKind;
  noun: string;
  owner: Owner["kind"];
}

export function subjectOf(owner: Owner["kind"], place: SettingsKind): SettingsSubject {
  return { place, noun: place === "config" ? "configuration" : "set of secrets", owner };
}

export const MODULE_CONFIG = subjectOf("module", "config");

export interface Settings {
  /** Returns why a configuration is invalid, by path. With `incomplete`, required settings may be missing. */
  findIssues(config: Config, options?: { incomplete?: boolean }): ErrorIssue[];
  findOutdated(config: Config): string[];
  applyDefaults(config: Config): Config;
}

/** Compiles a JSON Schema, draft 2020-12 unless `$schema` names another. Throws if the schema is invalid. */
export function compileSettings(schema: JSONSchema, subject: SettingsSubject = MODULE_CONFIG): Settings {
  requireSchema(schema);
  const check = compile(schema, false);
  let fill: ValidateFunction | null = null;
  return {
    findIssues: (config, { incomplete = false } = {}) =>
      runCheck(check, config)
        .filter((error) => !(incomplete && error.keyword === "required"))
        .slice(0, MAX_ISSUES)
        .map((error) => describeIssue(error, subject)),
    findOutdated: (config) => [...new Set(runCheck(check, config).map(pointTo))].sort(byLength),
    applyDefaults(config) {
      const copy = structuredClone(config);
      fill ??= compile(schema, true);
      fill(copy);
      return copy;
    },
  };
}

type Dialect = typeof Ajv | typeof Ajv2019 | typeof Ajv2020;

/** Schema validators by dialect. Compiling one takes longer than checking most schemas. */
const checkers = new Map<Dialect, Ajv>();

function requireSchema(schema: JSONSchema): void {
  // Validating against an asynchronous schema would return a promise, which is always truthy.
  if (schema.$async !== undefined) throw new Error("$async is not a keyword of JSON Schema");
  const dialect = dialectOf(schema);
  const checker = checkers.get(dialect) ?? createAjv(dialect, {});
  checkers.set(dialect, checker);
  void checker.validateSchema(schema as AnySchemaObject, true);
}

function compile(schema: JSONSchema, useDefaults: boolean): ValidateFunction {
  const ajv = createAjv(dialectOf(schema), { useDefaults, validateSchema: false });
  return ajv.compile(schema as AnySchemaObject);
}

function dialectOf({ $schema }: JSONSchema): Dialect {
  const dialect = typeof $schema === "string" ? $schema : "";
  if (dialect.includes("draft-07") || dialect.includes("draft-06")) return Ajv;
  return dialect.includes("2019-09") ? Ajv2019 : Ajv2020;
}

function createAjv(dialect: Dialect, options: Options): Ajv {
  const ajv = new dialect({
    strict: false,
    allErrors: true,
    ownProperties: true,
    validateFormats: true,
    logger: false,
    code: { regExp: Object.assign(compileKnownPattern, { code: "compileKnownPattern" }) as never },
    ...options,
  });
  // The types describe a CommonJS module; Node exports the function itself.
  (ajvFormats as unknown as (instance: unknown) => void)(ajv);
  return ajv as Ajv;
}

/**
 * Compiles foreign patterns to run in linear time, so that none can block the server. Throws if a pattern is invalid.
 */
function compileKnownPattern(source: string, flags: string) {
  new RegExp(source, flags);
  return compilePattern(source);
}

function runCheck(check: ValidateFunction, config: Config): ErrorObject[] {
  return check(config) ? [] : (check.errors ?? []);
}

function describeIssue(error: ErrorObject, subject: SettingsSubject): ErrorIssue {
  const path = [subject.place, ...pointTo(error).split("/").slice(1)].join(".");
  const allowed =
    error.keyword === "enum" ? `: ${JSON.stringify(error.params.allowedValues).slice(0, 200)}` : "";
  const message =
    error.keyword === "additionalProperties" ? `is not a setting of this ${subject.owner}` : error.message;
  return { path, message: `${message ?? "is not valid"}${allowed}` };
}

/** Returns the setting that an error is about: the unknown or missing setting itself, not its parent object. */
function pointTo(error: ErrorObject): string {
  const name =
    error.params.additionalProperty ?? error.params.unevaluatedProperty ?? error.params.missingProperty;
  if (typeof name !== "string") return error.instancePath;
  return `${error.instancePath}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function byLength(left: string, right: string): number {
  return left.length - right.length || (left < right ? -1 : 1);
}
