import { type DestinationStream, type Logger, type LoggerOptions as LoggerSettings, pino } from "pino";
import { readFailure } from "../bounds/failure-text.ts";
import type { Config } from "../config.ts";
import type { Redactor } from "../secrets/redactor.ts";

const REDACTED_FIELDS = [
  "authorization",
  "cookie",
  "apiKey",
  "password",
  "secret",
  "secrets",
  "token",
  "databaseUrl",
];
const MIN_SECRET_CHARACTERS = 8;

export interface LoggerOptions {
  redactor?: Pick<Redactor, "jsonText">;
  stream: DestinationStream;
  ring?: { add(line: string): void };
}

/**
 * Replaces fields named like secrets, and every occurrence of the API key, the database password or a secret known to
 * the redactor in a finished line.
 */
export function createLogger(
  config: Pick<Config, "logLevel" | "apiKey" | "databaseUrl">,
  options: LoggerOptions,
): Logger {
  const known = listSecrets(config)
    .filter((secret) => secret.length >= MIN_SECRET_CHARACTERS)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  const settings: LoggerSettings = {
    level: config.logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: REDACTED_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]),
      censor: "[redacted]",
    },
    hooks: {
      logMethod(given, write) {
        try {
          write.apply(this, given);
        } catch {
          write.apply(this, readUnwritable(given));
        }
      },
      streamWrite: (line) => {
        const ours = known.reduce((text, secret) => text.replaceAll(secret, "[secret]"), line);
        const written = options.redactor?.jsonText(ours) ?? ours;
        options.ring?.add(written);
        return written;
      },
    },
  };
  return pino(settings, options.stream);
}

/**
 * Handles a module error that throws again when read: the line then contains that reason, or at least the message.
 */
function readUnwritable(given: readonly unknown[]): [object, string] {
  const message = given.find((part) => typeof part === "string") ?? "an unreadable value";
  let thrown: unknown;
  try {
    thrown = (given[0] as { err?: unknown }).err;
  } catch {
    thrown = undefined;
  }
  return [{ reason: readFailure(thrown) }, message];
}

function listSecrets(config: Pick<Config, "apiKey" | "databaseUrl">): string[] {
  const secrets = config.apiKey === null ? [] : [config.apiKey];
  if (config.databaseUrl !== null) {
    const { password } = new URL(config.databaseUrl);
    secrets.push(config.databaseUrl, password, decodeURIComponent(password));
  }
  return secrets;
}
