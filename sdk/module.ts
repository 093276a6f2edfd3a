import { z } from "zod";

/** A JSON Schema document as data (draft 2020-12 unless it says otherwise). */
export type JSONSchema = Record<string, unknown>;

/** Service ids are identifiers, so that `tools.<service>.<tool>` is valid TypeScript. */
export const IDENTIFIER_PATTERN = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
/** A tool id is an identifier, or up to 8 joined by dots for grouped tools: `issues.list`. */
export const TOOL_ID_PATTERN = /^[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*){0,7}$/;
/** Module ids may also contain `-`. */
export const MODULE_ID_PATTERN = /^[A-Za-z_$][A-Za-z0-9_$-]*$/;

/** Structured logging for modules: pino's calling convention, redacted by the host. */
export interface ModuleLogger {
  debug(fields: object, message?: string): void;
  info(fields: object, message?: string): void;
  warn(fields: object, message?: string): void;
  error(fields: object, message?: string): void;
}

/** Given to every module when it is activated. `config` and `secrets` have been validated against their schemas. */
export interface ModuleSetupContext {
  config: Record<string, unknown>;
  secrets: Record<string, unknown>;
  logger: ModuleLogger;
  /**
   * The host's guarded `fetch`. It enforces the egress rules, pins the connection to the checked address, and follows
   * redirects per `init.redirect`, checking each. Make every outbound request through it. A refused address rejects
   * with an Error whose `code` is `egress_refused` and whose message names the rule.
   */
  fetch: typeof globalThis.fetch;
}

/**
 * Members that every module may have. If `setup` throws, the module is not activated and its record shows the message.
 */
export interface Module {
  setup(context: ModuleSetupContext): Promise<void>;
  teardown(): Promise<void>;
}

export const MODULE_TYPES = ["adapter", "environment"] as const;
export type ModuleType = (typeof MODULE_TYPES)[number];

/** `module.json` of a module folder; built-ins export the same object as `manifest`. Extra keys are ignored. */
export const moduleManifestSchema = z.object({
  id: z.string().regex(MODULE_ID_PATTERN).max(100),
  type: z.enum(MODULE_TYPES),
  name: z.string().min(1).max(200),
  description: z.string().max(4000),
  main: z.string().min(1).max(500),
  version: z.string().max(100).optional(),
  configSchema: z.record(z.string(), z.unknown()).optional(),
  secretsSchema: z.record(z.string(), z.unknown()).optional(),
});
export type ModuleManifest = z.infer<typeof moduleManifestSchema>;

/** Exports of the entry file of a module folder, as names or on its default export. */
export interface ModuleEntry<M extends Module = Module> {
  instantiate(): M | Promise<M>;
  manifest?: ModuleManifest;
}

/** Codes of Cyrnel's own warnings. Modules may use others. */
export const WARNING_CODES = [
  "call_not_awaited",
  "rejections_unseen",
  "timers_dropped",
  "value_not_json",
  "number_rounded",
  "answer_odd",
  /** Stands for the warnings beyond `MAX_WARNINGS`. */
  "more_warnings",
] as const;
export type WarningCode = (typeof WARNING_CODES)[number];

/** Number of warnings kept per run; further ones are counted. */
export const MAX_WARNINGS = 50;

/**
 * Something the reader of a run's record should know that did not fail the run. Lines and columns are 1-based, in the
 * submitted source.
 */
export const runWarningSchema = z.object({
  code: z.string().regex(/^[a-z][a-z_]{0,49}$/),
  message: z.string().max(2000),
  line: z.int().positive().optional(),
  column: z.int().positive().optional(),
  /** Source file of `line`; absent for the submitted script itself. */
  file: z.string().max(255).optional(),
  /** Place inside a value, such as `result.items[3]`. */
  path: z.string().max(1000).optional(),
});
export type RunWarning = z.infer<typeof runWarningSchema>;
