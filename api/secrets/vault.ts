/** Stores secrets encrypted and opens them only in memory. Reports every value it reads or writes to the redactor. */
import { z } from "zod";
import type { ModuleLogger } from "../../sdk/index.ts";
import type { Db, Fragment } from "../db/pool.ts";
import type { Keyring } from "./keyring.ts";
import type { Redactor } from "./redactor.ts";
import { open, type Sealed, type SecretOwner, seal } from "./sealing.ts";
import {
  deleteSecrets,
  keepSealed,
  listSealedWithOther,
  listSecrets,
  readSealed,
  readSecrets,
  replaceSealed,
  writeSecrets,
} from "./store.ts";

const BATCH_ROWS = 100;
/** Several passes are needed if a running server with an old key keeps writing rows. */
const MAX_PASSES = 3;

export type SecretValues = Record<string, unknown>;

export interface StoredSecrets {
  values: SecretValues;
  /**
   * Destinations that the secrets are bound to. Null for owners without destinations, and for secrets stored by older
   * versions.
   */
  origins: readonly string[] | null;
  version: number;
}

export interface KeptValue {
  owner: SecretOwner;
  sealed: Sealed;
}

export interface Vault {
  /** Returns version 0 if the owner has no secrets. Throws AppError `secrets_key_missing`. */
  read(db: Db, owner: SecretOwner): Promise<StoredSecrets>;
  /**
   * Replaces all of an owner's values and seals `origins` with them, so that neither can be changed alone. Returns
   * the new version, or null if `expectedVersion` is not the stored one. Throws AppError `secrets_key_missing`.
   */
  write(
    db: Db,
    owner: SecretOwner,
    values: SecretValues,
    expectedVersion: number,
    origins?: readonly string[],
  ): Promise<number | null>;
  /** Binds the stored values to `origins`. Returns false if another version is stored. */
  bind(db: Db, owner: SecretOwner, origins: readonly string[], expectedVersion: number): Promise<boolean>;
  /** Removes an owner's secrets. The redactor keeps the values, in case the removal is rolled back. */
  remove(db: Db, owner: SecretOwner): Promise<void>;
  /** Stores data without telling the redactor, but only if the statement `when` returns a row. */
  keep(db: Db, entries: readonly KeptValue[], when?: Fragment): Promise<void>;
  recall(db: Db, kind: SecretOwner["kind"], ids: readonly string[]): Promise<Map<string, unknown>>;
  /** Seals a value for storage in another table. Throws AppError `secrets_key_missing`. */
  seal(owner: SecretOwner, value: unknown): Sealed;
  open(owner: SecretOwner, sealed: unknown): unknown;
}

export function createVault(keyring: Keyring | null, redactor: Redactor): Vault {
  return {
    async read(db, owner) {
      const row = await readSecrets(db, owner);
      if (row === null) return { values: {}, origins: null, version: 0 };
      const { values, origins } = readContent(open(keyring, owner, row.sealed), owner);
      redactor.setOwner(ownerKey(owner), values);
      return { values, origins, version: row.version };
    },
    async write(db, owner, values, expectedVersion, origins) {
      const sealed = seal(keyring, owner, origins === undefined ? values : [values, origins]);
      redactor.setOwner(ownerKey(owner), values);
      return writeSecrets(db, owner, sealed, expectedVersion);
    },
    async bind(db, owner, origins, expectedVersion) {
      const row = await readSecrets(db, owner);
      if (row === null || row.version !== expectedVersion) return false;
      const { values } = readContent(open(keyring, owner, row.sealed), owner);
      return replaceSealed(db, row, seal(keyring, owner, [values, origins]));
    },
    remove: (db, owner) => deleteSecrets(db, owner),
    keep: keepSealed,
    async recall(db, kind, ids) {
      const rows = await readSealed(db, kind, ids);
      return new Map(rows.map(({ ownerId: id, sealed }) => [id, open(keyring, { kind, id }, sealed)]));
    },
    seal: (owner, value) => seal(keyring, owner, value),
    open: (owner, sealed) => open(keyring, owner, sealed),
  };
}

export function ownerKey({ kind, id }: SecretOwner): string {
  return `${kind}:${id}`;
}

const boundSchema = z.tuple([z.record(z.string(), z.unknown()), z.array(z.string())]);

/**
 * Reads the sealed content of a service or module: either its values, or a pair of values and origins. Throws Error
 * for anything else.
 */
export function readContent(content: unknown, { kind, id }: SecretOwner): Omit<StoredSecrets, "version"> {
  if (content !== null && typeof content === "object" && !Array.isArray(content))
    return { values: content as SecretValues, origins: null };
  const parsed = boundSchema.safeParse(content);
  if (!parsed.success)
    throw new Error(`The stored secrets of ${kind} ${id} are not an object. Set them again.`);
  const [values, origins] = parsed.data;
  return { values, origins };
}

const KINDS = ["service", "module"] as const;

export interface StoredSecretsOptions {
  db: Db;
  vault: Pick<Vault, "open">;
  redactor: Pick<Redactor, "setOwner">;
  log: ModuleLogger;
}

/**
 * Reports stored secrets to the redactor. Logs and skips secrets that cannot be opened, because nothing can use them.
 * Rejects only if the database fails.
 */
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

export interface RotationResult {
  rotated: number;
  contended: number;
  unreadable: { owner: SecretOwner; problem: string }[];
}

/**
 * Seals everything with the current key. May be stopped and restarted, and may run while servers are running: a row
 * that changes meanwhile is tried again. Rejects only if the database fails.
 */
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
