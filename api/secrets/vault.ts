/**
 * Secrets of owners, sealed in the database and open only in memory. What is read or written here is known to the
 * redactor from then on, so that no value can be used that would not be recognised.
 */
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
/** A row that changes under every look is being written with an old key by a running server. */
const MAX_PASSES = 3;

export type SecretValues = Record<string, unknown>;

export interface StoredSecrets {
  values: SecretValues;
  /** Where they may go, as of when they were set; null: of an owner that has no such rule, or stored by a version before it. */
  origins: readonly string[] | null;
  /** 0: there are none. */
  version: number;
}

/** A value to be kept, sealed by `Vault.seal` for this owner. */
export interface KeptValue {
  owner: SecretOwner;
  sealed: Sealed;
}

export interface Vault {
  /**
   * Without values and with version 0 for an owner without secrets. Throws AppError `secrets_key_missing` when there are
   * some and their key is not here.
   */
  read(db: Db, owner: SecretOwner): Promise<StoredSecrets>;
  /**
   * Replaces all values of an owner. `origins` are sealed with them: neither can be changed without the other. The new
   * version, or null when `expectedVersion` is not the stored one. Throws AppError `secrets_key_missing` without a key.
   */
  write(
    db: Db,
    owner: SecretOwner,
    values: SecretValues,
    expectedVersion: number,
    origins?: readonly string[],
  ): Promise<number | null>;
  /** The same values with other origins, under the same version. False when they are no longer of that version. */
  bind(db: Db, owner: SecretOwner, origins: readonly string[], expectedVersion: number): Promise<boolean>;
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

/** What the vault calls an owner towards the redactor. */
export function ownerKey({ kind, id }: SecretOwner): string {
  return `${kind}:${id}`;
}

const boundSchema = z.tuple([z.record(z.string(), z.unknown()), z.array(z.string())]);

/**
 * What is sealed of a service or a module: its values, which are an object, or a pair of these and the origins they are
 * bound to. Throws Error for anything else.
 */
export function readContent(content: unknown, { kind, id }: SecretOwner): Omit<StoredSecrets, "version"> {
  if (content !== null && typeof content === "object" && !Array.isArray(content))
    return { values: content as SecretValues, origins: null };
  const parsed = boundSchema.safeParse(content);
  if (!parsed.success) throw new Error(`The stored secrets of ${kind} ${id} are no object. Set them again.`);
  const [values, origins] = parsed.data;
  return { values, origins };
}

/** Tells the redactor, at start, every secret that is stored: also of services that are not in use. */
const KINDS = ["service", "module"] as const;

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

export interface RotationResult {
  /** Rows that are sealed with the current key now and were not before. */
  rotated: number;
  /** Rows that changed at every look; run it again. */
  contended: number;
  /** Rows that no key here opens, with the reason. */
  unreadable: { owner: SecretOwner; problem: string }[];
}

/**
 * Seals everything again with the current key. Can be stopped and started again at any point, and runs beside servers: a
 * row that another caller changes meanwhile is left as it is and looked at again. Rejects only when the database does.
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
