/** Tells the redactor, at start, every secret that is stored: also of services that are not in use. */

import type { ModuleLogger } from "#sdk";
import type { Db } from "../db/pool.ts";
import type { Redactor } from "./redactor.ts";
import type { SecretOwner } from "./sealing.ts";
import { listSecrets } from "./store.ts";
import { ownerKey, readContent, type Vault } from "./vault.ts";

const KINDS = ["service", "module"] as const;
const BATCH_ROWS = 200;

export interface StoredSecretsOptions {
  db: Db;
  vault: Pick<Vault, "open">;
  redactor: Pick<Redactor, "setOwner">;
  log: ModuleLogger;
}

/** What does not open is logged and passed over: it cannot be used either. Rejects only when the database does. */
export async function learnStoredSecrets({ db, vault, redactor, log }: StoredSecretsOptions): Promise<void> {
  let after: SecretOwner | null = null;
  const closed: { owner: string; problem: string }[] = [];
  for (;;) {
    const rows = await listSecrets(db, KINDS, after, BATCH_ROWS);
    for (const row of rows) {
      const owner: SecretOwner = { kind: row.ownerKind, id: row.ownerId };
      after = owner;
      try {
        redactor.setOwner(ownerKey(owner), readContent(vault.open(owner, row.sealed), owner).values);
      } catch (error) {
        closed.push({ owner: ownerKey(owner), problem: (error as Error).message });
      }
    }
    if (rows.length < BATCH_ROWS) break;
  }
  const [first] = closed;
  if (first !== undefined) {
    log.error(
      { owners: closed.slice(0, 20).map(({ owner }) => owner), count: closed.length },
      `stored secrets cannot be opened: ${first.problem}`,
    );
  }
}
