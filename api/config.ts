/**
 * The server's configuration: environment variables, parsed and checked once, frozen. With api/main.ts the only reader of
 * process.env.
 */
import type { KeyObject } from "node:crypto";
import { isIP } from "node:net";
import path from "node:path";
import type { z } from "zod";
import { visibleLine } from "#client/visible-text.ts";
import type { IsolationLevel } from "#sdk";
import type { DefaultPolicy } from "./access/policies/defaults.ts";
import { CONFIG_VARIABLES } from "./config-variables.ts";
import type { EgressEntry } from "./egress/entries.ts";
import { pickSimilar } from "./tools/search/similarity.ts";

type VariableName = keyof typeof CONFIG_VARIABLES;
type ParsedValue<N extends VariableName> =
  | z.output<(typeof CONFIG_VARIABLES)[N]["schema"]>
  | ((typeof CONFIG_VARIABLES)[N]["fallback"] extends null ? null : never);

/** The configuration in force. Times in milliseconds, sizes in bytes; null and 0 as described above. */
export interface Config {
  readonly port: number;
  readonly host: string;
  /** Null: embedded Postgres. */
  readonly databaseUrl: string | null;
  /** Absolute. */
  readonly dataDirectory: string;
  /** Null: anonymous mode. */
  readonly apiKey: string | null;
  /** What environments are asked for. */
  readonly isolation: IsolationLevel;
  readonly maxActiveProcesses: number;
  readonly maxCodeSizeBytes: number;
  readonly maxStdoutBytes: number;
  readonly maxStderrBytes: number;
  /** Null: no maximum. */
  readonly maxTimeoutMs: number | null;
  /** Null: no maximum. */
  readonly maxCpuMs: number | null;
  readonly invokeTimeoutMs: number;
  readonly maxCallsInFlight: number;
  readonly maxCallResultBytes: number;
  readonly allowStdioMcp: boolean;
  /** Null: none is given. */
  readonly secretsKey: KeyObject | null;
  readonly secretsPreviousKeys: readonly KeyObject[];
  readonly egress: { readonly allow: readonly EgressEntry[]; readonly deny: readonly EgressEntry[] };
  /** What decides a tool call that no policy matches. */
  readonly defaultPolicy: DefaultPolicy;
  readonly approvalTtlMs: number;
  readonly approvalHoldMs: number;
  readonly allowSelfApproval: boolean;
  readonly maxApprovalsPerProcess: number;
  readonly maxPausedProcesses: number;
  /** Null: kept for ever. */
  readonly auditRetentionDays: number | null;
  /** Null: kept for ever. */
  readonly retentionDays: number | null;
  /** Null: no maximum. */
  readonly retentionMax: number | null;
  /** Null: no limit. */
  readonly maxRunningPerKey: number | null;
  /** Null: found out. */
  readonly replicaAddress: string | null;
  readonly rateLimit: { readonly max: number; readonly windowMs: number } | null;
  readonly shutdownDelayMs: number;
  readonly shutdownTimeoutMs: number;
  /** Null: no traces. */
  readonly tracing: {
    readonly endpoint: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly serviceName: string;
    /** From 0 to 1. */
    readonly ratio: number;
  } | null;
  readonly logLevel: string;
}

export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: string[] };

/**
 * Parses an environment. An empty variable counts as unset. Never throws: reports every problem there is. `platform` as in
 * `process.platform`.
 */
export function parseConfig(
  environment: Record<string, string | undefined>,
  platform: string = process.platform,
): ConfigResult {
  const problems: string[] = [];
  const read = <N extends VariableName>(name: N): ParsedValue<N> => {
    const { schema, fallback } = CONFIG_VARIABLES[name];
    const given = environment[name];
    const value = given === undefined || given.trim() === "" ? fallback : given;
    if (value === null) return null as ParsedValue<N>;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data as ParsedValue<N>;
    for (const message of new Set(parsed.error.issues.map((issue) => issue.message))) {
      problems.push(`${name}: ${message}`);
    }
    return null as ParsedValue<N>;
  };
  const rateLimitMax = read("CYRNEL_RATE_LIMIT_MAX");
  const rateLimitWindowMs = read("CYRNEL_RATE_LIMIT_WINDOW_MS");
  const collector = read("OTEL_EXPORTER_OTLP_ENDPOINT");
  const config: Config = Object.freeze({
    port: read("PORT"),
    host: read("HOST"),
    databaseUrl: read("DATABASE_URL"),
    dataDirectory: path.resolve(read("CYRNEL_DATA_DIR") ?? "."),
    apiKey: read("CYRNEL_API_KEY"),
    isolation: read("CYRNEL_ISOLATION"),
    maxActiveProcesses: read("CYRNEL_MAX_ACTIVE_PROCESSES"),
    maxCodeSizeBytes: read("CYRNEL_MAX_CODE_SIZE_BYTES"),
    maxStdoutBytes: read("CYRNEL_MAX_STDOUT_BYTES"),
    maxStderrBytes: read("CYRNEL_MAX_STDERR_BYTES"),
    maxTimeoutMs: read("CYRNEL_MAX_TIMEOUT_MS") || null,
    maxCpuMs: read("CYRNEL_MAX_CPU_MS") || null,
    invokeTimeoutMs: read("CYRNEL_INVOKE_TIMEOUT_MS"),
    maxCallsInFlight: read("CYRNEL_MAX_CALLS_IN_FLIGHT"),
    maxCallResultBytes: read("CYRNEL_MAX_CALL_RESULT_BYTES"),
    allowStdioMcp: read("CYRNEL_ALLOW_STDIO_MCP"),
    secretsKey: read("CYRNEL_SECRETS_KEY"),
    secretsPreviousKeys: Object.freeze(read("CYRNEL_SECRETS_PREVIOUS_KEYS") ?? []),
    egress: Object.freeze({
      allow: Object.freeze(read("CYRNEL_EGRESS_ALLOW") ?? []),
      deny: Object.freeze(read("CYRNEL_EGRESS_DENY") ?? []),
    }),
    defaultPolicy: read("CYRNEL_DEFAULT_POLICY"),
    approvalTtlMs: read("CYRNEL_APPROVAL_TTL_MS"),
    approvalHoldMs: read("CYRNEL_APPROVAL_HOLD_MS"),
    allowSelfApproval: read("CYRNEL_ALLOW_SELF_APPROVAL"),
    maxApprovalsPerProcess: read("CYRNEL_MAX_APPROVALS_PER_PROCESS"),
    maxPausedProcesses: read("CYRNEL_MAX_PAUSED_PROCESSES"),
    auditRetentionDays: read("CYRNEL_AUDIT_RETENTION_DAYS") || null,
    retentionDays: read("CYRNEL_RETENTION_DAYS") || null,
    retentionMax: read("CYRNEL_RETENTION_MAX") || null,
    maxRunningPerKey: read("CYRNEL_MAX_RUNNING_PER_KEY") || null,
    replicaAddress: read("CYRNEL_REPLICA_ADDRESS"),
    rateLimit:
      rateLimitMax === null || rateLimitWindowMs === null
        ? null
        : Object.freeze({ max: rateLimitMax, windowMs: rateLimitWindowMs }),
    shutdownDelayMs: read("CYRNEL_SHUTDOWN_DELAY_MS"),
    shutdownTimeoutMs: read("SHUTDOWN_TIMEOUT_MS"),
    tracing:
      collector === null
        ? null
        : Object.freeze({
            endpoint: collector,
            headers: read("OTEL_EXPORTER_OTLP_HEADERS") ?? {},
            serviceName: read("OTEL_SERVICE_NAME"),
            ratio: read("OTEL_TRACES_SAMPLER_ARG"),
          }),
    logLevel: read("LOG_LEVEL"),
  });
  problems.push(...listContradictions(environment, config, platform));
  return problems.length === 0 ? { ok: true, config } : { ok: false, problems };
}

/** `parseConfig` over the environment of this process, for entries besides the server's. */
export function readConfig(): ConfigResult {
  return parseConfig(process.env);
}

/** Of the command, and of build and test of this repository's images. */
const OTHER_VARIABLES = new Set(["CYRNEL_URL"]);
/** What Kubernetes sets in every pod for a service that is called `cyrnel` or `cyrnel-…`. */
const SERVICE_LINK =
  /_SERVICE_(?:HOST|PORT)(?:_\w+)?$|_PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?$/;
const MAX_NEAR_NAMES = 2;

/** A sentence for each variable that is called like one of the server's and is none: most often it is misspelt. */
export function listUnknownVariables(environment: Record<string, string | undefined>): string[] {
  const known = Object.keys(CONFIG_VARIABLES);
  return Object.keys(environment)
    .filter((name) => name.startsWith("CYRNEL_") && !known.includes(name) && !OTHER_VARIABLES.has(name))
    .filter((name) => !SERVICE_LINK.test(name))
    .sort()
    .map((name) => {
      const near = pickSimilar(name, known, MAX_NEAR_NAMES);
      const hint =
        near.length === 0
          ? "docs/configuration.md lists those there are"
          : `did you mean ${near.join(" or ")}?`;
      return `${visibleLine(name.slice(0, 200))} is no setting of the server and does nothing: ${hint}`;
    });
}

/** Problems of two variables together. A variable that is wrong by itself is reported as that only. */
function listContradictions(
  environment: Record<string, string | undefined>,
  config: Config,
  platform: string,
): string[] {
  const problems: string[] = [];
  const isSet = (name: VariableName) => (environment[name] ?? "").trim() !== "";
  if (config.host !== null && !isLoopbackHost(config.host) && !isSet("CYRNEL_API_KEY")) {
    problems.push(
      `HOST: ${config.host} is reachable from other machines and no API key is set. ` +
        "Set CYRNEL_API_KEY (make one with: openssl rand -hex 32), or listen on 127.0.0.1",
    );
  }
  if (config.isolation === "development" && config.host !== null && !isLoopbackHost(config.host)) {
    problems.push(
      `CYRNEL_ISOLATION: development puts nothing of the kernel's round a run, and HOST ${config.host} is reachable from other machines. ` +
        "Listen on 127.0.0.1, or set CYRNEL_ISOLATION to strict or standard",
    );
  }
  if (platform !== "linux" && config.isolation !== null && config.isolation !== "development") {
    problems.push(
      `CYRNEL_ISOLATION: ${config.isolation} needs Linux, this is ${platform}. ` +
        "Run the server in a Linux container or virtual machine, or, for trying it out on this machine alone, set CYRNEL_ISOLATION=development",
    );
  }
  if (isSet("CYRNEL_SECRETS_PREVIOUS_KEYS") && isSet("DATABASE_URL") && !isSet("CYRNEL_SECRETS_KEY")) {
    problems.push(
      "CYRNEL_SECRETS_PREVIOUS_KEYS: set without CYRNEL_SECRETS_KEY, so nothing could be encrypted; set both, the key in use as CYRNEL_SECRETS_KEY",
    );
  }
  if (isSet("CYRNEL_RATE_LIMIT_MAX") !== isSet("CYRNEL_RATE_LIMIT_WINDOW_MS")) {
    problems.push(
      "CYRNEL_RATE_LIMIT_MAX, CYRNEL_RATE_LIMIT_WINDOW_MS: one is set without the other; set both or neither",
    );
  }
  return problems;
}

/** 127.0.0.0/8, ::1 and `localhost`. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

/** One message with every problem, for the terminal. */
export function formatProblems(problems: string[]): string {
  const heading =
    problems.length === 1
      ? "The configuration has a problem:"
      : `The configuration has ${problems.length} problems:`;
  return [heading, ...problems.map((problem) => `  - ${problem}`), "See docs/configuration.md.", ""].join(
    "\n",
  );
}
