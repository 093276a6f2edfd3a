/**
 * The server's configuration: environment variables, parsed and validated once, then frozen. Only this file and
 * api/main.ts read process.env.
 */
import { isIP } from "node:net";
import type { z } from "zod";
import { parseTimings, type Timings } from "#api/config/timings.ts";
import { CONFIG_VARIABLES } from "#api/config/variables.ts";
import { visibleLine } from "#client/visible-text.ts";
import { pickSimilar } from "#kernel/tool-search/similarity.ts";

type Variables = typeof CONFIG_VARIABLES;
type VariableName = keyof Variables;
type Value<N extends VariableName> =
  | z.output<Variables[N]["schema"]>
  | (Variables[N]["fallback"] extends null ? null : never);
type Read = <N extends VariableName>(name: N) => Value<N>;

type Fields = {
  readonly [N in VariableName as NonNullable<Variables[N]["field"]>]: Value<N>;
};

/**
 * The configuration in force. Times are in milliseconds, sizes in bytes. CONFIG_VARIABLES describes each field and
 * its null value.
 */
export type Config = Readonly<Fields & ReturnType<typeof readGroups> & { timings: Timings }>;

/** Reads fields made of several variables, and lists that are empty by default. */
function readGroups(read: Read) {
  const max = read("CYRNEL_RATE_LIMIT_MAX");
  const windowMs = read("CYRNEL_RATE_LIMIT_WINDOW_MS");
  const endpoint = read("OTEL_EXPORTER_OTLP_ENDPOINT");
  return {
    secretsPreviousKeys: Object.freeze(read("CYRNEL_SECRETS_PREVIOUS_KEYS") ?? []),
    egress: Object.freeze({
      allow: Object.freeze(read("CYRNEL_EGRESS_ALLOW") ?? []),
      deny: Object.freeze(read("CYRNEL_EGRESS_DENY") ?? []),
    }),
    rateLimit: max === null || windowMs === null ? null : Object.freeze({ max, windowMs }),
    tracing:
      endpoint === null
        ? null
        : Object.freeze({
            endpoint,
            headers: read("OTEL_EXPORTER_OTLP_HEADERS") ?? {},
            serviceName: read("OTEL_SERVICE_NAME"),
            ratio: read("OTEL_TRACES_SAMPLER_ARG"),
          }),
  };
}

export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: string[] };

/**
 * Parses an environment. An empty variable counts as unset. Returns all problems; throws only for CYRNEL_TIMINGS,
 * which tests set. `platform` has the values of `process.platform`.
 */
export function parseConfig(
  environment: Record<string, string | undefined>,
  platform: string = process.platform,
): ConfigResult {
  const problems: string[] = [];
  const read: Read = <N extends VariableName>(name: N) => {
    const { schema, fallback } = CONFIG_VARIABLES[name];
    const given = environment[name];
    const value = given === undefined || given.trim() === "" ? fallback : given;
    if (value === null) return null as Value<N>;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data as Value<N>;
    for (const message of new Set(parsed.error.issues.map((issue) => issue.message))) {
      problems.push(`${name}: ${message}`);
    }
    return null as Value<N>;
  };
  const fields = Object.entries(CONFIG_VARIABLES).flatMap(([name, { field }]) =>
    field === null ? [] : [[field, read(name as VariableName)]],
  );
  const timings = parseTimings(environment.CYRNEL_TIMINGS);
  const config = Object.freeze({ ...Object.fromEntries(fields), ...readGroups(read), timings }) as Config;
  problems.push(...listContradictions(environment, config, platform));
  return problems.length === 0 ? { ok: true, config } : { ok: false, problems };
}

/** Parses the environment of this process, for entry points other than the server's. */
export function readConfig(): ConfigResult {
  return parseConfig(process.env);
}

/** Variables of the command line and of tests. */
const OTHER_VARIABLES = new Set(["CYRNEL_URL", "CYRNEL_TIMINGS"]);
/** Variables that Kubernetes sets in every pod for a service named `cyrnel` or `cyrnel-…`. */
const SERVICE_LINK =
  /_SERVICE_(?:HOST|PORT)(?:_\w+)?$|_PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?$/;
const MAX_NEAR_NAMES = 2;

/** Returns a message for each unknown variable with the server's prefix, which is usually a typo. */
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

/** Reports conflicts between two variables. A variable that is already invalid by itself is skipped. */
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

/** Returns true for 127.0.0.0/8, ::1 and `localhost`. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

/** Formats all problems as one message for the terminal. */
export function formatProblems(problems: string[]): string {
  const heading =
    problems.length === 1
      ? "The configuration has a problem:"
      : `The configuration has ${problems.length} problems:`;
  return [heading, ...problems.map((problem) => `  - ${problem}`), "See docs/configuration.md.", ""].join(
    "\n",
  );
}
