import path from "node:path";
import { z } from "zod";
import { DEFAULT_POLICIES } from "#api/config/default-policies.ts";
import { MAKE_KEY_COMMAND } from "#api/config/key-material.ts";
import { ISOLATION_LEVELS } from "#sdk";
import { setting } from "./setting.ts";
import {
  apiKey,
  databaseUrl,
  flag,
  hostName,
  MIN_KEY_CHARACTERS,
  MIN_KEY_DISTINCT_CHARACTERS,
  secretsKey,
  text,
  wholeNumber,
} from "./values.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

export const FIRST_STEPS = {
  PORT: setting("port", wholeNumber(0, 65_535), "9371", "TCP port to listen on. 0 picks a free port."),
  HOST: setting(
    "host",
    hostName,
    "127.0.0.1",
    "Address to listen on. The server refuses to start on a non-loopback address without CYRNEL_API_KEY.",
  ),
  DATABASE_URL: setting(
    "databaseUrl",
    databaseUrl,
    null,
    "Postgres 15 or newer: `postgres://user:password@host:5432/database`; for a Unix socket add `?host=/folder`. If unset, the server starts an embedded Postgres in CYRNEL_DATA_DIR (a development dependency that the production image does not contain).",
  ),
  CYRNEL_DATA_DIR: setting(
    "dataDirectory",
    text.min(1, { error: "expected a folder" }).transform((folder) => path.resolve(folder)),
    "./.cyrnel",
    "Folder for the embedded database and installed modules, relative to the working directory.",
  ),
  CYRNEL_API_KEY: setting(
    "apiKey",
    apiKey,
    null,
    `Bootstrap admin key. Clients send it as \`Authorization: Bearer <key>\`. At least ${MIN_KEY_CHARACTERS} characters, ${MIN_KEY_DISTINCT_CHARACTERS} of them different. If unset, the server is anonymous and listens on loopback only.`,
  ),
  CYRNEL_SECRETS_KEY: setting(
    "secretsKey",
    secretsKey,
    null,
    `Encrypts the secrets of services and modules: 32 random bytes in base64 (\`${MAKE_KEY_COMMAND}\`). Keys that are easy to guess are refused. If unset together with DATABASE_URL, the server creates a key in CYRNEL_DATA_DIR (\`secrets.key\`, mode 0600); if only this variable is unset, secrets cannot be used.`,
  ),
  CYRNEL_ISOLATION: setting(
    "isolation",
    z.enum(ISOLATION_LEVELS, { error: "expected strict, standard or development" }),
    "strict",
    "Isolation that every run must have; no environment becomes active without it. `strict` requires every layer and needs Linux with seccomp and Landlock. `standard` omits the kernel filters, for kernels that lack them. `development` uses no kernel isolation: for macOS, Windows and debugging, on loopback only. The server never lowers the level by itself.",
  ),
  LOG_LEVEL: setting(
    "logLevel",
    z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"], {
      error: "expected fatal, error, warn, info, debug, trace or silent",
    }),
    "info",
    "Least severe level to log (JSON lines on standard output).",
  ),
};

export const ACCESS = {
  CYRNEL_DEFAULT_POLICY: setting(
    "defaultPolicy",
    z.enum(DEFAULT_POLICIES, { error: "expected allow, ask-destructive, ask or block" }),
    "allow",
    "Decides tool calls that no rule matches: `allow`, `ask-destructive` (an approver decides calls of destructive tools), `ask` (an approver decides every call) or `block`.",
  ),
  CYRNEL_APPROVAL_TTL_MS: setting(
    "approvalTtlMs",
    wholeNumber(100),
    String(DAY_MS),
    "How long a paused call waits for a decision, in milliseconds. After that the approval expires and the call fails in the script.",
  ),
  CYRNEL_APPROVAL_HOLD_MS: setting(
    "approvalHoldMs",
    wholeNumber(0),
    "60000",
    "How long a paused run keeps its child, in milliseconds. A decision within this time resumes the run at once; a later one replays the run from its record.",
  ),
  CYRNEL_ALLOW_SELF_APPROVAL: setting(
    "allowSelfApproval",
    flag,
    "false",
    "Whether the key that created a run may decide that run's approvals.",
  ),
  CYRNEL_MAX_APPROVALS_PER_PROCESS: setting(
    "maxApprovalsPerProcess",
    wholeNumber(1, 10_000),
    "100",
    "Maximum approvals one run may request. Further calls that need one fail with `too_many_approvals`.",
  ),
  CYRNEL_MAX_PAUSED_PROCESSES: setting(
    "maxPausedProcesses",
    wholeNumber(1, 1_000_000),
    "10000",
    "Maximum paused runs. At the limit, further runs cannot request approvals. Paused runs do not count towards CYRNEL_MAX_ACTIVE_PROCESSES.",
  ),
  CYRNEL_ALLOW_STDIO_MCP: setting(
    "allowStdioMcp",
    flag,
    "false",
    "Whether MCP services may use the `stdio` transport. It starts programs on this machine with the server's rights, outside all egress rules.",
  ),
  CYRNEL_RATE_LIMIT_MAX: setting(
    null,
    wholeNumber(1),
    null,
    "Requests per client and window. Requires CYRNEL_RATE_LIMIT_WINDOW_MS. If unset, there is no rate limit.",
  ),
  CYRNEL_RATE_LIMIT_WINDOW_MS: setting(
    null,
    wholeNumber(100, DAY_MS),
    null,
    "Length of the rate limit window, in milliseconds. Requires CYRNEL_RATE_LIMIT_MAX.",
  ),
};
