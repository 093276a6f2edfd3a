/**
 * `cyrnel doctor`: reports whether a server would start here and how its runs would be isolated. Prints one JSON
 * object and changes nothing. Exit code 0: it would start; 1: something is missing or wrong, as named in the output.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { type Diagnosis, diagnose } from "#runner/isolation/doctor.ts";
import type { IsolationLevel } from "#sdk";
import { type Config, readConfig } from "./config.ts";
import { locateBinaries } from "./db/embedded/binaries.ts";
import { describeUnsuitable, listAppliedMigrations, listMigrations, type ServerFacts } from "./db/migrate.ts";
import { createPool } from "./db/pool.ts";

interface DatabaseState {
  kind: "embedded" | "given";
  ok: boolean;
  /** A complete sentence. */
  found: string;
  fix?: string;
}

interface Answer {
  ok: boolean;
  /** Configuration problems. If there are any, checks that depend on the configuration are skipped. */
  problems: string[];
  isolation: Diagnosis & { asked: IsolationLevel };
  database: DatabaseState | null;
  egress: { allow: string[]; deny: string[] } | null;
}

const CONNECT_TIMEOUT_MS = 3000;

const answer = await examine();
process.stdout.write(`${JSON.stringify(answer)}\n`);
process.exitCode = answer.ok ? 0 : 1;

async function examine(): Promise<Answer> {
  const parsed = readConfig();
  const config = parsed.ok ? parsed.config : null;
  const asked = config?.isolation ?? "strict";
  const [diagnosis, database] = await Promise.all([
    diagnose(asked, config?.zygote !== "off"),
    config === null ? null : examineDatabase(config),
  ]);
  return {
    ok: parsed.ok && diagnosis.obtained === asked && database?.ok === true,
    problems: parsed.ok ? [] : parsed.problems,
    isolation: { asked, ...diagnosis },
    database,
    egress: config && {
      allow: config.egress.allow.map(({ text }) => text),
      deny: config.egress.deny.map(({ text }) => text),
    },
  };
}

function examineDatabase({ databaseUrl, dataDirectory }: Config): Promise<DatabaseState> {
  return databaseUrl === null ? examineEmbedded(dataDirectory) : examineGiven(databaseUrl);
}

/** Checks the data directory without starting Postgres, which only a server does. */
async function examineEmbedded(dataDirectory: string): Promise<DatabaseState> {
  const kind = "embedded" as const;
  try {
    await locateBinaries();
  } catch (error) {
    return { kind, ok: false, found: (error as Error).message, fix: "set DATABASE_URL, or run npm ci" };
  }
  const folder = path.join(dataDirectory, "postgres");
  const version = await readFile(path.join(folder, "data", "PG_VERSION"), "utf8").catch(() => null);
  const found =
    version === null
      ? `The first start creates one in ${folder}.`
      : `Postgres ${version.trim()} with data in ${folder}.`;
  return { kind, ok: true, found };
}

async function examineGiven(databaseUrl: string): Promise<DatabaseState> {
  const kind = "given" as const;
  const pool = createPool(databaseUrl, {
    maxConnections: 1,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    applicationName: "cyrnel doctor",
  });
  try {
    const [server] = await pool<ServerFacts[]>`
      select current_setting('server_version_num')::int as number, current_setting('server_version') as name,
        pg_is_in_recovery() as replica, current_setting('default_transaction_read_only')::boolean as "readOnly"`;
    const unsuitable = server === undefined ? "The database gave no answer." : describeUnsuitable(server);
    if (unsuitable !== null) return { kind, ok: false, found: unsuitable };
    return { kind, ...(await describeSchema(await listAppliedMigrations(pool), server?.name ?? "")) };
  } catch (error) {
    const { code } = error as { code?: string };
    const { hostname, port } = new URL(databaseUrl);
    return {
      kind,
      ok: false,
      found: `The database at ${hostname}:${port || 5432} cannot be used (${code ?? "no answer"}).`,
      fix: "check DATABASE_URL and that Postgres is running",
    };
  } finally {
    await pool.end({ timeout: 1 });
  }
}

async function describeSchema(applied: string[], name: string): Promise<Omit<DatabaseState, "kind">> {
  const known = await listMigrations();
  const newer = applied.filter((migration) => !known.includes(migration));
  if (newer.length > 0) {
    return {
      ok: false,
      found: `Postgres ${name}; its schema is newer than this program (${newer.at(-1)}).`,
      fix: "start the newer version of Cyrnel",
    };
  }
  const missing = known.length - applied.length;
  const state = missing === 0 ? "its schema is up to date" : `${missing} migrations run at the next start`;
  return { ok: true, found: `Postgres ${name}; ${state}.` };
}
