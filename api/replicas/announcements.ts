/**
 * Sends notices between replicas: ids only, in batches, and none while a server is alone. A lost connection may lose
 * notices, so receivers also poll.
 */
import { z } from "zod";
import { closeInTime, type Listening, listenFor, notify } from "../db/notices.ts";
import type { Pool } from "../db/pool.ts";

const CHANNEL = "cyrnel_processes";
/** Postgres payloads must be shorter than 8,000 bytes. An id takes at most 16 digits and a comma. */
const MAX_IDS_PER_NOTICE = 400;
/** Maximum number of unsent ids. More are dropped, and receivers learn of them by polling. */
const MAX_WAITING_IDS = 10_000;
const noticeSchema = z.tuple([z.string(), z.string(), z.array(z.int())]);

export interface Announcements extends AsyncDisposable {
  publish(kind: string, ids: readonly number[]): void;
  /** Calls the listener with notices from other servers. It must not throw. */
  listen(listener: (kind: string, ids: number[], from: string) => void): () => void;
  /** Starts to listen for notices. Rejects if the database fails. */
  start(): Promise<void>;
}

export interface AnnouncementsOptions {
  pool: Pool;
  /** This server's id, used to ignore its own notices. */
  id: string;
  /** Called when notices may have been missed because the listening connection is new. */
  onGap(): void;
  log: { warn(fields: object, message: string): void };
}

export function createAnnouncements({ pool, id, onGap, log }: AnnouncementsOptions): Announcements {
  const listeners = new Set<(kind: string, ids: number[], from: string) => void>();
  const waiting = new Map<string, number[]>();
  let waitingIds = 0;
  let sending: Promise<void> | null = null;
  let listening: Listening | null = null;
  let isFailing = false;

  async function sendAll(): Promise<void> {
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
      await notify(pool, CHANNEL, [id, kind, ids]);
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, "other servers could not be notified; they poll for changes");
      isFailing = true;
    }
  }

  function onNotice(notice: z.output<typeof noticeSchema> | null): void {
    if (notice === null) return;
    const [from, kind, ids] = notice;
    if (from === id) return;
    for (const listener of [...listeners]) listener(kind, ids, from);
  }

  return {
    publish(kind, ids) {
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
      listening = listenFor(pool, { channel: CHANNEL, schema: noticeSchema, onNotice, onListening: onGap });
      await listening.ready;
    },
    async [Symbol.asyncDispose]() {
      await closeInTime(sending);
      await listening?.[Symbol.asyncDispose]();
    },
  };
}
