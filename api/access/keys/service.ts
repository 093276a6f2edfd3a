import { type PageRequest, readNumberedPage } from "#api/bounds/page.ts";
import { AppError } from "#api/errors.ts";
import { type ChangeOptions, change, makeId, readExpiry, refuseMore, refuseUnknownRole } from "../changes.ts";
import { type CreateKeyBody, type KeyRecord, MAX_LIVE_KEYS, readScopes } from "./model.ts";
import { makeKey } from "./secret.ts";
import { countLiveKeys, insertKey, type KeyRow, listKeyRows, revokeKey } from "./store.ts";

export interface Keys {
  /** Creates a key and returns it; it is never shown again. Throws AppError `invalid_request`, `limit_reached`. */
  create(body: CreateKeyBody): Promise<KeyRecord & { key: string }>;
  list(page: PageRequest<number>): Promise<{ keys: KeyRecord[]; next: number | null }>;
  /** Revokes a key. Once this resolves, no request with the key succeeds. Throws AppError `not_found`. */
  remove(id: string): Promise<void>;
}

export function createKeys(options: ChangeOptions): Keys {
  return {
    async create({ name, scopes, roleId, expiresAt }) {
      const { key, prefix, hash } = makeKey();
      const made = {
        id: makeId("key"),
        name,
        prefix,
        hash,
        scopes,
        roleId,
        expiresAt: readExpiry(expiresAt),
      };
      const row = await change(
        options,
        ["keys"],
        async (db) => {
          if ((await countLiveKeys(db)) < MAX_LIVE_KEYS) return insertKey(db, made);
          throw refuseMore(MAX_LIVE_KEYS, "keys", "Revoke one that is not needed.");
        },
        { reference: () => refuseUnknownRole(roleId) },
      );
      return { ...toRecord(row), key };
    },
    async list(page) {
      const { rows, next } = await readNumberedPage(page, (at) => listKeyRows(options.pool, at));
      return { keys: rows.map(toRecord), next };
    },
    async remove(id) {
      const isRevoked = await change(options, ["keys"], (db) => revokeKey(db, id));
      if (!isRevoked) throw new AppError("not_found", `There is no key ${id}, or it is already revoked.`);
    },
  };
}

function toRecord({ position: _, ...row }: KeyRow): KeyRecord {
  return {
    ...row,
    scopes: readScopes(row.scopes),
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt?.toISOString() ?? null,
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  };
}
