/**
 * Keeps live keys in memory, so that checking one needs no query. An unknown key triggers one reload, because another
 * replica may have just created it. Concurrent reloads share one query.
 */
import { timingSafeEqual } from "node:crypto";
import type { Db } from "#api/db/pool.ts";
import type { RevisionWatch } from "#api/db/revisions.ts";
import type { VerifiedKey } from "#api/http/auth.ts";
import { readScopes } from "./model.ts";
import { hashKey, looksLikeKey } from "./secret.ts";
import { readLiveKeys, touchKeys } from "./store.ts";

const TOUCH_INTERVAL_MS = 60_000;
const TOUCH_FLUSH_MS = 1000;

interface LiveKey extends VerifiedKey {
  hash: Buffer;
  /** Unix time in milliseconds, or Infinity for a key that does not expire. */
  expiresAtMs: number;
}

export interface KeyDirectory extends AsyncDisposable {
  /** Returns null for an unknown, revoked or expired key. Rejects if the database cannot answer at the moment. */
  verify(key: string): Promise<VerifiedKey | null>;
  /** Returns a key from memory, or null if it is revoked or expired. */
  find(id: string): VerifiedKey | null;
}

export function createKeyDirectory(db: Db, watch: RevisionWatch): KeyDirectory {
  let byHash = new Map<string, LiveKey>();
  let byId = new Map<string, LiveKey>();
  const touchedAtMs = new Map<string, number>();
  const untold = new Set<string>();
  let flushing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;

  watch.follow("keys", async () => {
    const keys = (await readLiveKeys(db)).map(toLiveKey);
    byHash = new Map(keys.map((key) => [key.hash.toString("hex"), key]));
    byId = new Map(keys.map((key) => [key.id, key]));
    for (const id of touchedAtMs.keys()) if (!byId.has(id)) touchedAtMs.delete(id);
  });

  function recordUse(id: string): void {
    const now = Date.now();
    if (now - (touchedAtMs.get(id) ?? 0) < TOUCH_INTERVAL_MS) return;
    touchedAtMs.set(id, now);
    untold.add(id);
    timer ??= setTimeout(() => {
      timer = undefined;
      void flush();
    }, TOUCH_FLUSH_MS).unref();
  }

  async function flush(): Promise<void> {
    await flushing;
    if (untold.size === 0) return;
    const ids = [...untold];
    untold.clear();
    // A failed update loses nothing, because the next use records the time again.
    flushing = touchKeys(db, ids).catch(() => {});
    await flushing;
  }

  return {
    async verify(key) {
      if (!looksLikeKey(key)) return null;
      const hash = hashKey(key);
      if (!watch.isFresh()) await watch.refresh();
      let found = byHash.get(hash.toString("hex"));
      if (found === undefined) {
        await watch.refresh();
        found = byHash.get(hash.toString("hex"));
      }
      // Timing reveals only how the hash of a guess compares, and a caller cannot steer that hash towards a stored
      // one.
      if (found === undefined || !timingSafeEqual(found.hash, hash) || isExpired(found)) return null;
      recordUse(found.id);
      return found;
    },
    find(id) {
      const found = byId.get(id);
      return found === undefined || isExpired(found) ? null : found;
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await flush();
    },
  };
}

function toLiveKey(row: {
  id: string;
  name: string;
  scopes: string[];
  roleId: string | null;
  expiresAt: Date | null;
  hash: Buffer;
}): LiveKey {
  return {
    id: row.id,
    name: row.name,
    scopes: new Set(readScopes(row.scopes)),
    roleId: row.roleId,
    hash: row.hash,
    expiresAtMs: row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
  };
}

function isExpired(key: LiveKey): boolean {
  return key.expiresAtMs <= Date.now();
}
