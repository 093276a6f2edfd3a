/**
 * Plays the interleavings of tests/unit with a real Postgres: fewer of them, over the statements themselves.
 * INTERLEAVINGS sets how many.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseKeyMaterial } from "#api/config/key-material.ts";
import { createKeyring } from "#api/secrets/keyring.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import { createVault } from "#api/secrets/vault.ts";
import { createTestDatabase } from "../harness/database.ts";
import { SECRETS_KEY } from "../services-server.ts";
import { checkInterleaving, examples, schedule, script } from "./model/invariants.ts";
import { createPostgresTables } from "./model/postgres-tables.ts";

const INTERLEAVINGS = Number(process.env.INTERLEAVINGS ?? 40);

test(
  `${INTERLEAVINGS} interleavings over the real tables; nothing is left of any`,
  async () => {
    await using database = await createTestDatabase();
    const key = parseKeyMaterial(SECRETS_KEY);
    if (!key.ok) throw new Error(key.problem);
    const vault = createVault(createKeyring(key.key, []), createRedactor());
    await fc.assert(
      fc.asyncProperty(script, schedule, async (operations, picks) => {
        await checkInterleaving(createPostgresTables(database.pool, vault), operations, picks);
      }),
      { numRuns: INTERLEAVINGS, endOnFailure: true, examples },
    );
    const [left] = await database.pool`
    select (select count(*) from processes where state <> 'idle')::int as open,
      (select count(*) from approvals where state = 'pending')::int as pending,
      (select count(*) from process_checkpoints)::int as checkpoints, (select count(*) from process_journal)::int as journal,
      (select count(*) from secrets where owner_kind = 'call_log')::int as sealed`;
    expect(left).toEqual({ open: 0, pending: 0, checkpoints: 0, journal: 0, sealed: 0 });
    await database.pool`delete from processes`;
    const [secrets] = await database.pool`select count(*)::int as count from secrets`;
    expect(secrets?.count).toBe(0);
  },
  300_000 + INTERLEAVINGS * 1000,
);
