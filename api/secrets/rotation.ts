/**
 * Seals everything again with the current key. Can be stopped and started again at any point, and runs beside servers:
 * a row that another caller changes meanwhile is left as it is and looked at again.
 */
import type { Db } from "../db/pool.ts";
import type { Keyring } from "./keyring.ts";
import { open, type SecretOwner, seal } from "./sealing.ts";
import { listSealedWithOther, replaceSealed } from "./store.ts";

const BATCH_ROWS = 100;
/** A row that changes under every look is being written with an old key by a running server. */
const MAX_PASSES = 3;

export interface RotationResult {
  /** Rows that are sealed with the current key now and were not before. */
  rotated: number;
  /** Rows that changed at every look; run it again. */
  contended: number;
  /** Rows that no key here opens, with the reason. */
  unreadable: { owner: SecretOwner; problem: string }[];
}

/** Rejects only when the database does. */
export async function rotateSecrets(db: Db, keyring: Keyring): Promise<RotationResult> {
  let rotated = 0;
  let outcome = await rotateOnce(db, keyring);
  rotated += outcome.rotated;
  for (let pass = 1; outcome.contended > 0 && pass < MAX_PASSES; pass += 1) {
    outcome = await rotateOnce(db, keyring);
    rotated += outcome.rotated;
  }
  return { ...outcome, rotated };
}

async function rotateOnce(db: Db, keyring: Keyring): Promise<RotationResult> {
  const result: RotationResult = { rotated: 0, contended: 0, unreadable: [] };
  let after: SecretOwner | null = null;
  for (;;) {
    const rows = await listSealedWithOther(db, keyring.current.kid, after, BATCH_ROWS);
    for (const row of rows) {
      const owner: SecretOwner = { kind: row.ownerKind, id: row.ownerId };
      after = owner;
      let value: unknown;
      try {
        value = open(keyring, owner, row.sealed);
      } catch (error) {
        result.unreadable.push({ owner, problem: (error as Error).message });
        continue;
      }
      if (await replaceSealed(db, row, seal(keyring, owner, value))) result.rotated += 1;
      else result.contended += 1;
    }
    if (rows.length < BATCH_ROWS) return result;
  }
}
