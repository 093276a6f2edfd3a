/** Every variable of the server's environment, described once: docs/configuration.md is printed from here. */
import { z } from "zod";
import { ISOLATION_LEVELS } from "#sdk";
import { DEFAULT_POLICIES } from "./access/policies/defaults.ts";
import {
  apiKey,
  collectorAddress,
  collectorHeaders,
  databaseUrl,
  egressEntries,
  flag,
  fraction,
  hostName,
  MIN_KEY_CHARACTERS,
  MIN_KEY_DISTINCT_CHARACTERS,
  replicaAddress,
  secretsKey,
  secretsKeys,
  text,
  wholeNumber,
} from "./config-values.ts";
import { MAKE_KEY_COMMAND } from "./secrets/key-material.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** One entry per variable: how it is parsed, what it is without a value, what it means. */
export const CONFIG_VARIABLES = {
  PORT: {
    schema: wholeNumber(0, 65_535),
    fallback: "9371",
    description: "TCP port to listen on; 0 takes a free one.",
  },
  HOST: {
    schema: hostName,
    fallback: "127.0.0.1",
    description:
      "Address to listen on. Anything beyond loopback needs CYRNEL_API_KEY: without a key the server refuses to start.",
  },
  DATABASE_URL: {
    schema: databaseUrl,
    fallback: null,
    description:
      "Postgres 15 or newer: `postgres://user:password@host:5432/database`; a Unix socket as `?host=/folder`. Unset: an embedded Postgres below CYRNEL_DATA_DIR (development dependency; not in the production image).",
  },
  CYRNEL_DATA_DIR: {
    schema: text.min(1, { error: "expected a folder" }),
    fallback: "./.cyrnel",
    description: "Folder for the embedded database and installed modules; relative to the working directory.",
  },
  CYRNEL_API_KEY: {
    schema: apiKey,
    fallback: null,
    description: `The bootstrap admin key, sent by clients as \`Authorization: Bearer <key>\`. At least ${MIN_KEY_CHARACTERS} characters, ${MIN_KEY_DISTINCT_CHARACTERS} of them different. Unset: anonymous mode, on loopback only.`,
  },
  CYRNEL_ISOLATION: {
    schema: z.enum(ISOLATION_LEVELS, { error: "expected strict, standard or development" }),
    fallback: "strict",
    description:
      "What must stand round every run, or no environment becomes active. `strict`: every layer, needs Linux with seccomp and Landlock. `standard`: without the kernel's filters, for kernels that lack them. `development`: nothing of the kernel's, for macOS, Windows and debugging, on loopback only. Never lowered silently.",
  },
  CYRNEL_MAX_ACTIVE_PROCESSES: {
    schema: wholeNumber(1, 1_000_000),
    fallback: "1000",
    description: "Queued and running processes at most; more are refused with 429.",
  },
  CYRNEL_MAX_CODE_SIZE_BYTES: {
    schema: wholeNumber(1, 1_000_000),
    fallback: "102400",
    description: "Largest script, in bytes of UTF-8.",
  },
  CYRNEL_MAX_STDOUT_BYTES: {
    schema: wholeNumber(0, 64 * 1024 * 1024),
    fallback: "1048576",
    description: "Bytes of standard output kept of a run; more is cut off visibly.",
  },
  CYRNEL_MAX_STDERR_BYTES: {
    schema: wholeNumber(0, 64 * 1024 * 1024),
    fallback: "1048576",
    description: "Bytes of standard error kept of a run; more is cut off visibly.",
  },
  CYRNEL_MAX_TIMEOUT_MS: {
    schema: wholeNumber(0),
    fallback: "0",
    description:
      "Longest time-out a run may ask for, in milliseconds; longer ones (and `null`) are lowered to it. 0: no maximum, `null` means none.",
  },
  CYRNEL_MAX_CPU_MS: {
    schema: wholeNumber(0),
    fallback: "0",
    description:
      "Most processor time a run may ask for, in milliseconds, and what it gets without asking. 0: no maximum.",
  },
  CYRNEL_INVOKE_TIMEOUT_MS: {
    schema: wholeNumber(1),
    fallback: "30000",
    description: "Longest time of one tool call, in milliseconds.",
  },
  CYRNEL_MAX_CALLS_IN_FLIGHT: {
    schema: wholeNumber(1, 100_000),
    fallback: "2000",
    description:
      "Tool calls under way at most, of all callers together; more are refused with `too_many_calls`.",
  },
  CYRNEL_MAX_CALL_RESULT_BYTES: {
    schema: wholeNumber(1024, 16 * 1024 * 1024),
    fallback: "16777216",
    description: "Largest answer of a tool, in bytes of JSON; larger ones fail with `result_too_large`.",
  },
  CYRNEL_ALLOW_STDIO_MCP: {
    schema: flag,
    fallback: "false",
    description:
      "Whether MCP services may use the `stdio` transport, which starts programs on this host with the server's rights, outside every egress rule.",
  },
  CYRNEL_SECRETS_KEY: {
    schema: secretsKey,
    fallback: null,
    description: `What secrets of services and modules are encrypted with: 32 random bytes in base64 (\`${MAKE_KEY_COMMAND}\`); keys that are easy to guess are refused. Unset with DATABASE_URL: secrets cannot be used. Unset without DATABASE_URL: a key is made in CYRNEL_DATA_DIR (\`secrets.key\`, mode 0600).`,
  },
  CYRNEL_SECRETS_PREVIOUS_KEYS: {
    schema: secretsKeys,
    fallback: null,
    description:
      "Earlier values of CYRNEL_SECRETS_KEY, comma-separated: they decrypt, nothing new is encrypted with them. `npm run secrets:rotate` encrypts everything with the current key; then they can go.",
  },
  CYRNEL_EGRESS_ALLOW: {
    schema: egressEntries,
    fallback: null,
    description:
      "Destinations outside the public internet that downloads and adapters may connect to: addresses, blocks (`10.0.0.0/8`) and host names (`db.corp.example`, `*.corp.example`: every host below it), comma-separated. Link-local and cloud metadata addresses only if named exactly, address by address.",
  },
  CYRNEL_EGRESS_DENY: {
    schema: egressEntries,
    fallback: null,
    description:
      "Destinations that downloads and adapters never connect to, written as in CYRNEL_EGRESS_ALLOW. Wins over it.",
  },
  CYRNEL_DEFAULT_POLICY: {
    schema: z.enum(DEFAULT_POLICIES, { error: "expected allow, ask-destructive, ask or block" }),
    fallback: "allow",
    description:
      "What happens to a tool call that no policy matches: `allow`, `ask-destructive` (a person decides calls of destructive tools), `ask` (a person decides every call), `block`.",
  },
  CYRNEL_APPROVAL_TTL_MS: {
    schema: wholeNumber(100),
    fallback: String(DAY_MS),
    description:
      "How long a parked call waits for a decision, in milliseconds; then it expires and the script is told so.",
  },
  CYRNEL_APPROVAL_HOLD_MS: {
    schema: wholeNumber(0),
    fallback: "60000",
    description:
      "How long a paused run keeps its child, in milliseconds, so that a decision lets it go on at once; later ones repeat the run from its record.",
  },
  CYRNEL_ALLOW_SELF_APPROVAL: {
    schema: flag,
    fallback: "false",
    description: "Whether the key that created a process may decide the process's approvals.",
  },
  CYRNEL_MAX_APPROVALS_PER_PROCESS: {
    schema: wholeNumber(1, 10_000),
    fallback: "100",
    description: "Times a run may ask a person; further calls are refused with `too_many_approvals`.",
  },
  CYRNEL_MAX_PAUSED_PROCESSES: {
    schema: wholeNumber(1, 1_000_000),
    fallback: "10000",
    description:
      "Paused processes at most; further ones cannot ask a person. They do not count for CYRNEL_MAX_ACTIVE_PROCESSES.",
  },
  CYRNEL_AUDIT_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    fallback: "0",
    description: "Audit records are removed after this many days. 0: kept for ever.",
  },
  CYRNEL_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    fallback: "0",
    description: "Finished processes are removed after this many days. 0: kept for ever.",
  },
  CYRNEL_RETENTION_MAX: {
    schema: wholeNumber(0),
    fallback: "0",
    description:
      "Finished processes kept at most, the oldest are removed first; one in a hundred more may stay for a while. 0: no maximum.",
  },
  CYRNEL_MAX_RUNNING_PER_KEY: {
    schema: wholeNumber(0),
    fallback: "0",
    description:
      "Runs of one key at once, over all replicas; more of them wait in the queue. 0: no limit, keys that want more than there is share it equally.",
  },
  CYRNEL_REPLICA_ADDRESS: {
    schema: replicaAddress,
    fallback: null,
    description:
      "Where other replicas on the same database reach this one, for example `http://10.0.0.7:9371`. Unset: the address it listens on, or this machine's own when it listens on all.",
  },
  CYRNEL_RATE_LIMIT_MAX: {
    schema: wholeNumber(1),
    fallback: null,
    description: "Requests per client and window; needs CYRNEL_RATE_LIMIT_WINDOW_MS. Unset: no rate limit.",
  },
  CYRNEL_RATE_LIMIT_WINDOW_MS: {
    schema: wholeNumber(100, DAY_MS),
    fallback: null,
    description: "Length of the rate limit window, in milliseconds; needs CYRNEL_RATE_LIMIT_MAX.",
  },
  CYRNEL_SHUTDOWN_DELAY_MS: {
    schema: wholeNumber(0, 300_000),
    fallback: "0",
    description:
      "On SIGTERM or SIGINT: for how long the server is not ready but still answers, each answer with `Connection: close`, so that load balancers have taken it out before it closes; in milliseconds. The Helm chart sets it.",
  },
  SHUTDOWN_TIMEOUT_MS: {
    schema: wholeNumber(0, 3_600_000),
    fallback: "10000",
    description:
      "On SIGTERM or SIGINT: how long runs may finish before they are ended as `interrupted`, in milliseconds.",
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: collectorAddress,
    fallback: null,
    description:
      "Base address of an OTLP/HTTP collector (`http://collector:4318`), to which traces of requests, runs and tool calls are sent. Unset: no traces.",
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    schema: collectorHeaders,
    fallback: null,
    description:
      "Headers for the collector: `name=value`, comma-separated, values percent-encoded. They may hold a key.",
  },
  OTEL_SERVICE_NAME: {
    schema: text.max(200, { error: "expected at most 200 characters" }),
    fallback: "cyrnel",
    description: "What the server calls itself in traces.",
  },
  OTEL_TRACES_SAMPLER_ARG: {
    schema: fraction,
    fallback: "1",
    description:
      "Fraction of the traces that begin here to be kept, from 0 to 1. A request with a `traceparent` brings its own decision.",
  },
  LOG_LEVEL: {
    schema: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"], {
      error: "expected fatal, error, warn, info, debug, trace or silent",
    }),
    fallback: "info",
    description: "Least severe level of the log (JSON lines on standard output).",
  },
} as const satisfies Record<string, { schema: z.ZodType; fallback: string | null; description: string }>;
