/**
 * `cyrnel secrets rotate`: encrypts every stored secret with the current key, even while servers that have this key
 * are running. Exit code 0 means done, 1 means some secrets remain, 78 means wrong configuration.
 */
import path from "node:path";
import { hideMemory } from "#runner/jail/undumpable.ts";
import { type Config, formatProblems, readConfig } from "../config.ts";
import { startEmbeddedPostgres } from "../db/embedded.ts";
import { createPool } from "../db/pool.ts";
import { findKeyring } from "./server-keyring.ts";
import { rotateSecrets } from "./vault.ts";

const EX_CONFIG = 78;

hideMemory();

const parsed = readConfig();
if (!parsed.ok) {
  process.stderr.write(formatProblems(parsed.problems));
  process.exit(EX_CONFIG);
}
try {
  process.exitCode = await rotate(parsed.config);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function rotate(config: Config): Promise<number> {
  const { keyring, made } = await findKeyring(config);
  if (keyring === null) {
    say("There is no key: set CYRNEL_SECRETS_KEY, and the one it replaces in CYRNEL_SECRETS_PREVIOUS_KEYS.");
    return EX_CONFIG;
  }
  if (made !== null) say(`created a key for secrets: ${made}`);
  await using undo = new AsyncDisposableStack();
  const url = config.databaseUrl ?? (await openEmbedded(config.dataDirectory, undo));
  const pool = createPool(url, { maxConnections: 1, applicationName: "cyrnel secrets rotate" });
  undo.defer(() => pool.end({ timeout: 5 }));
  const { rotated, contended, unreadable } = await rotateSecrets(pool, keyring);
  for (const { problem } of unreadable) say(problem);
  if (contended > 0)
    say(
      `${contended} rows are being written with another key. Restart servers with the current key, then run this again.`,
    );
  say(
    `${rotated} rows were encrypted with the key ${keyring.current.kid}; ${unreadable.length + contended} remain.`,
  );
  return unreadable.length + contended === 0 ? 0 : 1;
}

async function openEmbedded(dataDirectory: string, undo: AsyncDisposableStack): Promise<string> {
  const postgres = await startEmbeddedPostgres({ directory: path.join(dataDirectory, "postgres") });
  if (!postgres.adopted) undo.use(postgres);
  return postgres.url;
}

function say(message: string): void {
  process.stderr.write(`cyrnel: ${message}\n`);
}
