/**
 * Notices between the servers on one database: ids only, in batches, nothing while a server is alone. A notice may be
 * lost with a connection; whoever needs it looks for itself now and then.
 */
import { waitAtMost } from "../bounds/deadline.ts";
import type { Pool } from "../db/pool.ts";
import { notify } from "./store.ts";

const CHANNEL = "cyrnel_processes";
/** Postgres takes less than 8000 bytes. An id has at most 16 digits and a comma. */
const MAX_IDS_PER_NOTICE = 400;
/** Beyond them the receivers look for themselves. */
const MAX_WAITING_IDS = 10_000;
const CLOSE_MS = 2000;

export interface Announcements extends AsyncDisposable {
  tell(kind: string, ids: readonly number[]): void;
  /** Notices of others. A listener must not throw. */
  listen(listener: (kind: string, ids: number[], from: string) => void): () => void;
  /** Resolves when notices are heard. Rejects when the database does. */
  start(): Promise<void>;
}

export interface AnnouncementsOptions {
  pool: Pool;
  /** Of this server: its own notices are passed over. */
  id: string;
  /** Called when notices may have been missed: the connection that hears them is a new one. */
  onGap(): void;
  log: { warn(fields: object, message: string): void };
}

export function createAnnouncements({ pool, id, onGap, log }: AnnouncementsOptions): Announcements {
  const listeners = new Set<(kind: string, ids: number[], from: string) => void>();
  const waiting = new Map<string, number[]>();
  let waitingIds = 0;
  let sending: Promise<void> | null = null;
  let subscription: { unlisten(): Promise<void> } | null = null;
  /** Said once per outage. */
  let isFailing = false;

  async function sendAll(): Promise<void> {
    // What comes in the same turn of the event loop goes together.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.size > 0) {
      const batch = [...waiting];
      waiting.clear();
      waitingIds = 0;
      for (const [kind, ids] of batch) {
        for (let at = 0; at === 0 || at < ids.length; at += MAX_IDS_PER_NOTICE) {
          await send(kind, ids.slice(at, at + MAX_IDS_PER_NOTICE));
        }
      }
    }
  }

  async function send(kind: string, ids: readonly number[]): Promise<void> {
    try {
      await notify(pool, CHANNEL, JSON.stringify([id, kind, ids]));
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, "other servers could not be told; they look for themselves");
      isFailing = true;
    }
  }

  function hear(payload: string): void {
    const notice = readNotice(payload);
    if (notice === null || notice.from === id) return;
    for (const listener of [...listeners]) listener(notice.kind, notice.ids, notice.from);
  }

  return {
    tell(kind, ids) {
      if (waitingIds + ids.length > MAX_WAITING_IDS) return;
      waitingIds += ids.length;
      waiting.set(kind, [...(waiting.get(kind) ?? []), ...ids]);
      sending ??= sendAll().finally(() => {
        sending = null;
      });
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async start() {
      subscription = await pool.listen(CHANNEL, hear, onGap);
    },
    async [Symbol.asyncDispose]() {
      const closing = (async () => {
        await sending;
        await subscription?.unlisten();
      })();
      await waitAtMost(closing, CLOSE_MS, "the last notice to other servers").catch(() => {});
    },
  };
}

function readNotice(payload: string): { from: string; kind: string; ids: number[] } | null {
  try {
    const [from, kind, ids] = JSON.parse(payload) as unknown[];
    const isWhole =
      typeof from === "string" &&
      typeof kind === "string" &&
      Array.isArray(ids) &&
      ids.every((one) => Number.isSafeInteger(one));
    return isWhole ? { from, kind, ids: ids as number[] } : null;
  } catch {
    return null;
  }
}
