/** The server's logger: JSON lines on standard output, request ids, and no secret in any of them. */
import { type DestinationStream, type Logger, type LoggerOptions as LoggerSettings, pino } from "pino";
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
  /** Knows the secrets of services and modules. */
  redactor?: Pick<Redactor, "jsonText">;
  /** Default: standard output. */
  stream?: DestinationStream;
}

/**
 * Builds the logger. Fields that hold secrets by name are replaced, and so is every appearance of the API key, of the
 * database's password and of what the redactor knows in a finished line, wherever it came from.
 */
export function createLogger(
  config: Pick<Config, "logLevel" | "apiKey" | "databaseUrl">,
  options: LoggerOptions = {},
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
      streamWrite: (line) => {
        const ours = known.reduce((text, secret) => text.replaceAll(secret, "[secret]"), line);
        return options.redactor?.jsonText(ours) ?? ours;
      },
    },
  };
  return options.stream ? pino(settings, options.stream) : pino(settings);
}

function listSecrets(config: Pick<Config, "apiKey" | "databaseUrl">): string[] {
  const secrets = config.apiKey === null ? [] : [config.apiKey];
  if (config.databaseUrl !== null) {
    const { password } = new URL(config.databaseUrl);
    secrets.push(config.databaseUrl, password, decodeURIComponent(password));
  }
  return secrets;
}
