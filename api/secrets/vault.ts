/**
 * Secrets of owners, sealed in the database and open only in memory. What is read or written here is known to the
 * redactor from then on, so that no value can be used that would not be recognised.
 */
import type { Db, Fragment } from "../db/pool.ts";
import type { Keyring } from "./keyring.ts";
import type { Redactor } from "./redactor.ts";
import { open, type Sealed, type SecretOwner, seal } from "./sealing.ts";
import { deleteSecrets, keepSealed, readSealed, readSecrets, writeSecrets } from "./store.ts";

export type SecretValues = Record<string, unknown>;

/** A value to be kept, sealed by `Vault.seal` for this owner. */
export interface KeptValue {
  owner: SecretOwner;
  sealed: Sealed;
}

export interface Vault {
  /**
   * `{ values: {}, version: 0 }` for an owner without secrets. Throws AppError `secrets_key_missing` when there are some
   * and their key is not here.
   */
  read(db: Db, owner: SecretOwner): Promise<{ values: SecretValues; version: number }>;
  /**
   * Replaces all values of an owner. The new version, or null when `expectedVersion` is not the stored one. Throws
   * AppError `secrets_key_missing` without a key.
   */
  write(db: Db, owner: SecretOwner, values: SecretValues, expectedVersion: number): Promise<number | null>;
  /** The values stay known to the redactor, in case the removal is rolled back: see `Redactor.dropOwner`. */
  remove(db: Db, owner: SecretOwner): Promise<void>;
  /**
   * Stores values that are data and no secrets to look out for: the redactor does not learn them. Replaces what was there. `when`: part
   * of the same statement, and nothing is kept unless it answers a row.
   */
  keep(db: Db, entries: readonly KeptValue[], when?: Fragment): Promise<void>;
  /** What was kept, by the id of its owner; what is not there is left out. Throws as `open` does. */
  recall(db: Db, kind: SecretOwner["kind"], ids: readonly string[]): Promise<Map<string, unknown>>;
  /** For values that live in another table. Throws AppError `secrets_key_missing` without a key. */
  seal(owner: SecretOwner, value: unknown): Sealed;
  /** Throws AppError `secrets_key_missing`, or Error for what is damaged or another owner's. */
  open(owner: SecretOwner, sealed: unknown): unknown;
}

/** Without a keyring everything that needs a key is refused with `secrets_key_missing`. */
export function createVault(keyring: Keyring | null, redactor: Redactor): Vault {
  return {
    async read(db, owner) {
      const row = await readSecrets(db, owner);
      if (row === null) return { values: {}, version: 0 };
      const values = requireObject(open(keyring, owner, row.sealed), owner);
      redactor.setOwner(ownerKey(owner), values);
      return { values, version: row.version };
    },
    async write(db, owner, values, expectedVersion) {
      const sealed = seal(keyring, owner, values);
      redactor.setOwner(ownerKey(owner), values);
      return writeSecrets(db, owner, sealed, expectedVersion);
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

/** What the vault calls an owner towards the redactor. */
export function ownerKey({ kind, id }: SecretOwner): string {
  return `${kind}:${id}`;
}

function requireObject(value: unknown, { kind, id }: SecretOwner): SecretValues {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return value as SecretValues;
  throw new Error(`The stored secrets of ${kind} ${id} are no object. Set them again.`);
}
