/** What can be done with keys: make, list, revoke. */
import type { Pool } from "#api/db/pool.ts";
import type { RevisionWatch } from "#api/db/revisions.ts";
import { AppError } from "#api/errors.ts";
import { type CreateKeyBody, type KeyRecord, MAX_LIVE_KEYS, readScopes } from "./model.ts";
import { makeKey, makeKeyId } from "./secret.ts";
import {
  countLiveKeys,
  insertKey,
  isUnknownRole,
  type KeyRow,
  listKeyRows,
  lockKeys,
  revokeKey,
} from "./store.ts";

export interface KeyPage {
  keys: KeyRecord[];
  /** Where the next page starts; null at the end. */
  next: number | null;
}

export interface Keys {
  /** The only time the key itself is seen. Throws AppError `invalid_request`, `limit_reached`. */
  create(body: CreateKeyBody): Promise<KeyRecord & { key: string }>;
  list(page: { before: number | null; limit: number }): Promise<KeyPage>;
  /** No request is served with it once this has resolved. Throws AppError `not_found`. */
  revoke(id: string): Promise<void>;
}

export interface KeysOptions {
  pool: Pool;
  watch: Pick<RevisionWatch, "refresh">;
  /** Default: MAX_LIVE_KEYS. */
  maxLiveKeys?: number;
}

export function createKeys({ pool, watch, maxLiveKeys = MAX_LIVE_KEYS }: KeysOptions): Keys {
  return {
    async create({ name, scopes, roleId, expiresAt }) {
      const expires = expiresAt === null ? null : new Date(expiresAt);
      if (expires !== null && expires.getTime() <= Date.now()) {
        throw refuseBody("expiresAt", "expected a time in the future");
      }
      const { key, prefix, hash } = makeKey();
      const made = { id: makeKeyId(), name, prefix, hash, scopes, roleId, expiresAt: expires };
      const row = await pool
        .begin(async (transaction) => {
          await lockKeys(transaction);
          if ((await countLiveKeys(transaction)) >= maxLiveKeys) throw refuseMore(maxLiveKeys);
          return insertKey(transaction, made);
        })
        .catch((error) => {
          if (!isUnknownRole(error)) throw error;
          throw refuseBody("roleId", `there is no role ${roleId}: GET /roles lists them`);
        });
      await watch.refresh();
      return { ...toRecord(row), key };
    },
    async list({ before, limit }) {
      const rows = await listKeyRows(pool, { before, limit: limit + 1 });
      const shown = rows.slice(0, limit);
      const next = rows.length > limit ? (shown.at(-1)?.position ?? null) : null;
      return { keys: shown.map(toRecord), next };
    },
    async revoke(id) {
      const revoked = await pool.begin(async (transaction) => {
        await lockKeys(transaction);
        return revokeKey(transaction, id);
      });
      await watch.refresh();
      if (!revoked) throw new AppError("not_found", `There is no key ${id}, or it is revoked already.`);
    },
  };
}

function refuseMore(max: number): AppError {
  return new AppError(
    "limit_reached",
    `There are ${max} keys, which is the most there may be. Revoke one that is not needed.`,
  );
}

function refuseBody(field: string, message: string): AppError {
  return new AppError("invalid_request", `The request is not valid: body.${field}: ${message}`, {
    issues: [{ path: `body.${field}`, message }],
  });
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
