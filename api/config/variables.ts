/** Every variable of the server's environment, declared once: `Config` and docs/configuration.md follow from here. */
import path from "node:path";
import { z } from "zod";
import { DEFAULT_POLICIES } from "#api/config/default-policies.ts";
import { MAKE_KEY_COMMAND } from "#api/config/key-material.ts";
import { ISOLATION_LEVELS } from "#sdk";
import {
  apiKey,
  bucketFolder,
  collectorAddress,
  collectorHeaders,
  databaseUrl,
  egressEntries,
  flag,
  fraction,
  hostName,
  MIN_KEY_CHARACTERS,
  MIN_KEY_DISTINCT_CHARACTERS,
  orNone,
  replicaAddress,
  secretsKey,
  secretsKeys,
  text,
  webAddress,
  wholeNumber,
} from "./values.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** `field`: what it is called in `Config`; null: `readGroups` of config.ts reads it. `fallback`: without a value, as text. */
function setting<
  const Field extends string | null,
  Schema extends z.ZodType,
  const Fallback extends string | null,
>(field: Field, schema: Schema, fallback: Fallback, description: string) {
  return { field, schema, fallback, description };
}

/** One entry per variable: its field, how it is parsed, its value when unset, its meaning. */
export const CONFIG_VARIABLES = {
  PORT: setting("port", wholeNumber(0, 65_535), "9371", "TCP port to listen on; 0 takes a free one."),
  HOST: setting(
    "host",
    hostName,
    "127.0.0.1",
    "Address to listen on. Anything beyond loopback needs CYRNEL_API_KEY: without a key the server refuses to start.",
  ),
  DATABASE_URL: setting(
    "databaseUrl",
    databaseUrl,
    null,
    "Postgres 15 or newer: `postgres://user:password@host:5432/database`; a Unix socket as `?host=/folder`. Unset: an embedded Postgres below CYRNEL_DATA_DIR (development dependency; not in the production image).",
  ),
  CYRNEL_DATA_DIR: setting(
    "dataDirectory",
    text.min(1, { error: "expected a folder" }).transform((folder) => path.resolve(folder)),
    "./.cyrnel",
    "Folder for the embedded database and installed modules; relative to the working directory.",
  ),
  CYRNEL_API_KEY: setting(
    "apiKey",
    apiKey,
    null,
    `The bootstrap admin key, sent by clients as \`Authorization: Bearer <key>\`. At least ${MIN_KEY_CHARACTERS} characters, ${MIN_KEY_DISTINCT_CHARACTERS} of them different. Unset: anonymous mode, on loopback only.`,
  ),
  CYRNEL_ISOLATION: setting(
    "isolation",
    z.enum(ISOLATION_LEVELS, { error: "expected strict, standard or development" }),
    "strict",
    "What must stand round every run, or no environment becomes active. `strict`: every layer, needs Linux with seccomp and Landlock. `standard`: without the kernel's filters, for kernels that lack them. `development`: nothing of the kernel's, for macOS, Windows and debugging, on loopback only. Never lowered silently.",
  ),
  CYRNEL_ZYGOTE: setting(
    "zygote",
    z.enum(["on", "off"], { error: "expected on or off" }),
    "on",
    "Where the processes of `typescript-process` come from. `on`: each is forked from a prepared one, where the machine allows it; all that are forked from one share the layout of its memory. `off`: a Node is booted for each, five times the cost.",
  ),
  CYRNEL_MAX_ACTIVE_PROCESSES: setting(
    "maxActiveProcesses",
    wholeNumber(1, 1_000_000),
    "1000",
    "Queued and running processes at most; more are refused with 429. The last tenth is kept for keys that have few: there a key may have half as many as are free.",
  ),
  CYRNEL_MAX_CODE_SIZE_BYTES: setting(
    "maxCodeSizeBytes",
    wholeNumber(1, 1_000_000),
    "102400",
    "Largest script, in bytes of UTF-8.",
  ),
  CYRNEL_MAX_STDOUT_BYTES: setting(
    "maxStdoutBytes",
    wholeNumber(0, 64 * 1024 * 1024),
    "1048576",
    "Bytes of standard output kept of a run; more is cut off visibly.",
  ),
  CYRNEL_MAX_STDERR_BYTES: setting(
    "maxStderrBytes",
    wholeNumber(0, 64 * 1024 * 1024),
    "1048576",
    "Bytes of standard error kept of a run; more is cut off visibly.",
  ),
  CYRNEL_MAX_TIMEOUT_MS: setting(
    "maxTimeoutMs",
    orNone(wholeNumber(0)),
    "0",
    "Longest time-out a run may ask for, in milliseconds; longer ones (and `null`) are lowered to it. 0: no maximum, `null` means none.",
  ),
  CYRNEL_MAX_CPU_MS: setting(
    "maxCpuMs",
    orNone(wholeNumber(0)),
    "0",
    "Most processor time a run may ask for, in milliseconds, and what it gets without asking. 0: no maximum.",
  ),
  CYRNEL_INVOKE_TIMEOUT_MS: setting(
    "invokeTimeoutMs",
    wholeNumber(1),
    "30000",
    "Longest time of one tool call, in milliseconds.",
  ),
  CYRNEL_MAX_CALLS_IN_FLIGHT: setting(
    "maxCallsInFlight",
    wholeNumber(1, 100_000),
    "2000",
    "Tool calls under way at most, of all callers together; more are refused with `too_many_calls`.",
  ),
  CYRNEL_MAX_CALL_RESULT_BYTES: setting(
    "maxCallResultBytes",
    wholeNumber(1024, 16 * 1024 * 1024),
    "16777216",
    "Largest answer of a tool, in bytes of JSON; larger ones fail with `result_too_large`.",
  ),
  CYRNEL_ALLOW_STDIO_MCP: setting(
    "allowStdioMcp",
    flag,
    "false",
    "Whether MCP services may use the `stdio` transport, which starts programs on this host with the server's rights, outside every egress rule.",
  ),
  CYRNEL_SECRETS_KEY: setting(
    "secretsKey",
    secretsKey,
    null,
    `What secrets of services and modules are encrypted with: 32 random bytes in base64 (\`${MAKE_KEY_COMMAND}\`); keys that are easy to guess are refused. Unset with DATABASE_URL: secrets cannot be used. Unset without DATABASE_URL: a key is made in CYRNEL_DATA_DIR (\`secrets.key\`, mode 0600).`,
  ),
  CYRNEL_SECRETS_PREVIOUS_KEYS: setting(
    null,
    secretsKeys,
    null,
    "Earlier values of CYRNEL_SECRETS_KEY, comma-separated: they decrypt, nothing new is encrypted with them. `cyrnel secrets rotate` encrypts everything with the current key; then they can go.",
  ),
  CYRNEL_EGRESS_ALLOW: setting(
    null,
    egressEntries,
    null,
    "Destinations outside the public internet that downloads and adapters may connect to: addresses, blocks (`10.0.0.0/8`) and host names (`db.corp.example`, `*.corp.example`: every host below it), comma-separated. Link-local and cloud metadata addresses only if named exactly, address by address.",
  ),
  CYRNEL_EGRESS_DENY: setting(
    null,
    egressEntries,
    null,
    "Destinations that downloads and adapters never connect to, written as in CYRNEL_EGRESS_ALLOW. Wins over it.",
  ),
  CYRNEL_DEFAULT_POLICY: setting(
    "defaultPolicy",
    z.enum(DEFAULT_POLICIES, { error: "expected allow, ask-destructive, ask or block" }),
    "allow",
    "What happens to a tool call that no policy matches: `allow`, `ask-destructive` (a person decides calls of destructive tools), `ask` (a person decides every call), `block`.",
  ),
  CYRNEL_APPROVAL_TTL_MS: setting(
    "approvalTtlMs",
    wholeNumber(100),
    String(DAY_MS),
    "How long a parked call waits for a decision, in milliseconds; then it expires and the script is told so.",
  ),
  CYRNEL_APPROVAL_HOLD_MS: setting(
    "approvalHoldMs",
    wholeNumber(0),
    "60000",
    "How long a paused run keeps its child, in milliseconds, so that a decision lets it go on at once; later ones repeat the run from its record.",
  ),
  CYRNEL_ALLOW_SELF_APPROVAL: setting(
    "allowSelfApproval",
    flag,
    "false",
    "Whether the key that created a process may decide the process's approvals.",
  ),
  CYRNEL_MAX_APPROVALS_PER_PROCESS: setting(
    "maxApprovalsPerProcess",
    wholeNumber(1, 10_000),
    "100",
    "Times a run may ask a person; further calls are refused with `too_many_approvals`.",
  ),
  CYRNEL_MAX_PAUSED_PROCESSES: setting(
    "maxPausedProcesses",
    wholeNumber(1, 1_000_000),
    "10000",
    "Paused processes at most; further ones cannot ask a person. They do not count for CYRNEL_MAX_ACTIVE_PROCESSES.",
  ),
  CYRNEL_AUDIT_RETENTION_DAYS: setting(
    "auditRetentionDays",
    orNone(wholeNumber(0, 36_500)),
    "0",
    "Audit records are removed after this many days. 0: kept for ever.",
  ),
  CYRNEL_RETENTION_DAYS: setting(
    "retentionDays",
    orNone(wholeNumber(0, 36_500)),
    "0",
    "Finished processes are removed after this many days. 0: kept for ever.",
  ),
  CYRNEL_RETENTION_MAX: setting(
    "retentionMax",
    orNone(wholeNumber(0)),
    "0",
    "Finished processes kept at most, the oldest are removed first; one in a hundred more may stay for a while. 0: no maximum.",
  ),
  CYRNEL_MAX_FILE_BYTES: setting(
    "maxFileBytes",
    wholeNumber(1, 5 * 1024 ** 3),
    "67108864",
    "Largest file that may be uploaded, in bytes.",
  ),
  CYRNEL_MAX_WORKSPACE_BYTES: setting(
    "maxWorkspaceBytes",
    wholeNumber(0, 5 * 1024 ** 3),
    "67108864",
    "Bytes of all files that a run is given, and of all that it leaves.",
  ),
  CYRNEL_SPOOL_DIR: setting(
    "spoolDirectory",
    text.min(1, { error: "expected a folder" }).transform((folder) => path.resolve(folder)),
    null,
    "Folder on a disk for what runs write to files while they are under way; made where it is missing, and nothing in it outlives the server. Unset: the system's folder for temporary files.",
  ),
  CYRNEL_MAX_SPOOL_BYTES: setting(
    "maxSpoolBytes",
    wholeNumber(1, 2 ** 50),
    "4294967296",
    "Bytes that all runs under way hold there together; one holds what it has written, also what it has replaced since. A run that would go beyond ends as `failed` / `output_limit`. The last tenth is kept for runs of keys that hold little. Less than the disk has room for.",
  ),
  CYRNEL_MAX_STORED_BYTES: setting(
    "maxStoredBytes",
    orNone(wholeNumber(0, 2 ** 50)),
    "10737418240",
    "Bytes that one key keeps at most: in uploads, in files of its processes, and in what they left, each content counted once. 0: no bound.",
  ),
  CYRNEL_FILE_TTL_DAYS: setting(
    "fileTtlDays",
    wholeNumber(1, 36_500),
    "30",
    "Uploaded files are removed this many days after their last use. What a process was given stays with it.",
  ),
  CYRNEL_OBJECT_STORE: setting(
    "objectStore",
    bucketFolder,
    null,
    "Where new contents of files are kept: `s3://bucket/folder`, of any S3-compatible store. Its address, region and credentials are the usual variables of AWS (`AWS_ENDPOINT_URL_S3`, `AWS_REGION`, `AWS_ACCESS_KEY_ID` …). Unset: in Postgres.",
  ),
  CYRNEL_OBJECT_STORE_PATH_STYLE: setting(
    "objectStorePathStyle",
    flag,
    "true",
    "Whether the bucket is named in the path of a request, as all stores know it; `false`: in the host name.",
  ),
  CYRNEL_OBJECT_STORE_TIMEOUT_MS: setting(
    "objectStoreTimeoutMs",
    wholeNumber(100, 600_000),
    "10000",
    "Of one attempt to read or write at most 8 MiB there. After three attempts the store counts as not available (503).",
  ),
  CYRNEL_NPM_REGISTRY: setting(
    "npmRegistry",
    webAddress,
    "https://registry.npmjs.org",
    "Registry that npm packages are installed from, through the egress rules.",
  ),
  CYRNEL_NPM_REGISTRY_TOKEN: setting(
    "npmRegistryToken",
    text.regex(/^[\x21-\x7e]{1,4096}$/, { error: "expected printable ASCII without spaces" }),
    null,
    "Sent to that registry as `Authorization: Bearer <token>`, and to no other place.",
  ),
  CYRNEL_NPM_REGISTRY_TIMEOUT_MS: setting(
    "npmRegistryTimeoutMs",
    wholeNumber(100, 300_000),
    "30000",
    "Longest silence of that registry, before an answer and within one, in milliseconds; then the installation fails.",
  ),
  CYRNEL_PACKAGE_MIN_AGE_DAYS: setting(
    "packageMinAgeDays",
    wholeNumber(0, 3650),
    "3",
    "How many days ago a package, and each it depends on, has to have been published to be installed: most malicious versions are found in the first days. 0: no matter when.",
  ),
  CYRNEL_PACKAGE_ADVISORIES: setting(
    "packageAdvisories",
    z.union([z.enum(["registry", "off"]), webAddress], { error: "expected registry, off or an address" }),
    "registry",
    "Where known weaknesses are looked up before a package is installed; known malware is refused. `registry`: at the registry, where it answers. An address (of npm's bulk endpoint for advisories): there, and without its answer nothing is installed. `off`: nowhere.",
  ),
  CYRNEL_MAX_RUNNING_PER_KEY: setting(
    "maxRunningPerKey",
    orNone(wholeNumber(0)),
    "0",
    "Runs of one key at once, over all replicas; more of them wait in the queue. 0: no limit, keys that want more than there is share it equally.",
  ),
  CYRNEL_REPLICA_ADDRESS: setting(
    "replicaAddress",
    replicaAddress,
    null,
    "Where other replicas on the same database reach this one, for example `http://10.0.0.7:9371`. Unset: the address it listens on, or this machine's own when it listens on all.",
  ),
  CYRNEL_RATE_LIMIT_MAX: setting(
    null,
    wholeNumber(1),
    null,
    "Requests per client and window; needs CYRNEL_RATE_LIMIT_WINDOW_MS. Unset: no rate limit.",
  ),
  CYRNEL_RATE_LIMIT_WINDOW_MS: setting(
    null,
    wholeNumber(100, DAY_MS),
    null,
    "Length of the rate limit window, in milliseconds; needs CYRNEL_RATE_LIMIT_MAX.",
  ),
  CYRNEL_MAX_PENDING_BODY_BYTES: setting(
    "maxPendingBodyBytes",
    wholeNumber(4 * 1024 ** 2, 2 ** 40),
    "201326592",
    "Bytes of request bodies held in memory while they are being sent, of all keys together; one key may hold half of them. Beyond its half a key is answered 429 `too_many_bodies`; beyond all of them everyone is answered 503 `server_busy`. Uploads of files are not held.",
  ),
  CYRNEL_REQUEST_TIMEOUT_MS: setting(
    "requestTimeoutMs",
    wholeNumber(1000, 3_600_000),
    "120000",
    "How long a client may take to send a request with its body, in milliseconds; then the connection is closed.",
  ),
  CYRNEL_SHUTDOWN_DELAY_MS: setting(
    "shutdownDelayMs",
    wholeNumber(0, 300_000),
    "0",
    "On SIGTERM or SIGINT: for how long the server is not ready but still answers, each answer with `Connection: close`, so that load balancers have taken it out before it closes; in milliseconds. The Helm chart sets it.",
  ),
  SHUTDOWN_TIMEOUT_MS: setting(
    "shutdownTimeoutMs",
    wholeNumber(0, 3_600_000),
    "10000",
    "On SIGTERM or SIGINT: how long runs may finish before they are ended as `interrupted`, in milliseconds.",
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    null,
    collectorAddress,
    null,
    "Base address of an OTLP/HTTP collector (`http://collector:4318`), to which traces of requests, runs and tool calls are sent. Unset: no traces.",
  ),
  OTEL_EXPORTER_OTLP_HEADERS: setting(
    null,
    collectorHeaders,
    null,
    "Headers for the collector: `name=value`, comma-separated, values percent-encoded. They may hold a key.",
  ),
  OTEL_SERVICE_NAME: setting(
    null,
    text.max(200, { error: "expected at most 200 characters" }),
    "cyrnel",
    "What the server calls itself in traces.",
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(
    null,
    fraction,
    "1",
    "Fraction of the traces that begin here to be kept, from 0 to 1. A request with a `traceparent` brings its own decision.",
  ),
  LOG_LEVEL: setting(
    "logLevel",
    z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"], {
      error: "expected fatal, error, warn, info, debug, trace or silent",
    }),
    "info",
    "Least severe level of the log (JSON lines on standard output).",
  ),
};
