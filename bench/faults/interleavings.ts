/**
 * `npm run bench -- interleavings [--memory N] [--postgres N] [--seed N]`: a process that asks people, with its steps,
 * decisions, kills, expiry, the end of the hold, crashes and restarts in every order that chance picks; over tables in
 * memory, and over those of a real Postgres. Ends with exit code 1 and the shortest schedule that breaks an invariant.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import fc from "fast-check";
import { parseKeyMaterial } from "#api/config/key-material.ts";
import { startEmbeddedPostgres } from "#api/db/embedded.ts";
import { migrate } from "#api/db/migrate.ts";
import { createPool } from "#api/db/pool.ts";
import { createKeyring } from "#api/secrets/keyring.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { createVault } from "#api/secrets/vault.ts";
import { checkInterleaving, schedule, script } from "#tests/integration/approvals/model/invariants.ts";
import { createMemoryTables } from "#tests/integration/approvals/model/memory-tables.ts";
import { createPostgresTables } from "#tests/integration/approvals/model/postgres-tables.ts";
import type { Tables } from "#tests/integration/approvals/model/world.ts";

const { values } = parseArgs({
  options: {
    memory: { type: "string", default: "20000" },
    postgres: { type: "string", default: "1000" },
    seed: { type: "string", default: String(Date.now() & 0x7fff_ffff) },
  },
});
const EVENTS = ["crash", "kill", "hold passes", "detach", "carry", "approved", "denied", "expired"];

async function walk(name: string, numRuns: number, createTables: () => Tables): Promise<void> {
  const seen = new Map<string, number>();
  let steps = 0;
  let executed = 0;
  const startedMs = performance.now();
  const outcome = await fc.check(
    fc.asyncProperty(script, schedule, async (operations, picks) => {
      const world = await checkInterleaving(createTables(), operations, picks);
      const text = world.trace.join(" ");
      for (const event of EVENTS) if (text.includes(event)) seen.set(event, (seen.get(event) ?? 0) + 1);
      steps += world.trace.length;
      executed += world.executed.size;
    }),
    { numRuns, seed: Number(values.seed) },
  );
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const events = EVENTS.map((event) => `${event} ${seen.get(event) ?? 0}`).join(", ");
  console.log(
    `${name}: ${outcome.numRuns} interleavings of ${steps} steps and ${executed} calls in ${seconds} s; with ${events}`,
  );
  if (!outcome.failed) return;
  console.error(fc.defaultReportMessage(outcome));
  process.exitCode = 1;
}

console.log(`seed ${values.seed}`);
await walk("in memory", Number(values.memory), createMemoryTables);

const directory = await mkdtemp(path.join(tmpdir(), "cyrnel-bench-interleavings-"));
await using undo = new AsyncDisposableStack();
undo.defer(() => rm(directory, { recursive: true, force: true }));
const postgres = undo.use(await startEmbeddedPostgres({ directory, durable: false }));
await migrate(postgres.url);
const pool = createPool(postgres.url, { maxConnections: 5 });
undo.defer(() => pool.end({ timeout: 5 }));
const key = parseKeyMaterial(randomBytes(32).toString("base64"));
if (!key.ok) throw new Error(key.problem);
const vault = createVault(createKeyring(key.key, []), createRedactor());
await walk("over Postgres", Number(values.postgres), () => createPostgresTables(pool, vault));
