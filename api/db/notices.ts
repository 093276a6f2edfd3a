/**
 * Contains the only Postgres notice listener and dispatches notices by channel. A lost connection may lose notices,
 * so features also poll the database and check again whenever listening restarts.
 */
import type { z } from "zod";
import { waitAtMost } from "../bounds/deadline.ts";
import type { Db, Pool } from "./pool.ts";

/** Limits the shutdown time, because the database may be down. */
const CLOSE_MS = 2000;

export interface NoticeOptions<Notice> {
  channel: string;
  schema: z.ZodType<Notice>;
  /** Receives null if the payload does not match the schema. Must not throw. */
  onNotice(notice: Notice | null): void;
  /** Called when listening starts, possibly on a new connection, so earlier notices may be lost. Must not throw. */
  onListening?(): void;
}

export interface Listening extends AsyncDisposable {
  /** Resolves when listening has started. Rejects if the database fails; no notices arrive then. */
  readonly ready: Promise<void>;
}

export function listenFor<Notice>(pool: Pool, options: NoticeOptions<Notice>): Listening {
  const { channel, schema, onNotice, onListening } = options;
  let isClosed = false;
  const subscribed = pool.listen(
    channel,
    (payload) => {
      if (!isClosed) onNotice(readNotice(payload, schema));
    },
    () => {
      if (!isClosed) onListening?.();
    },
  );
  const ready = subscribed.then(() => {});
  // If the caller does not await `ready`, an unhandled rejection would end the server.
  ready.catch(() => {});
  return {
    ready,
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await closeInTime(subscribed.then((subscription) => subscription.unlisten()));
    },
  };
}

/** Waits at most CLOSE_MS, because the database may be down. Never rejects. */
export async function closeInTime(closing: Promise<unknown> | null): Promise<void> {
  if (closing !== null) await waitAtMost(closing, CLOSE_MS, "the end").catch(() => {});
}

export async function notify(db: Db, channel: string, notice: unknown): Promise<void> {
  await db`select pg_notify(${channel}, ${JSON.stringify(notice)})`;
}

function readNotice<Notice>(payload: string, schema: z.ZodType<Notice>): Notice | null {
  try {
    return schema.parse(JSON.parse(payload));
  } catch {
    return null;
  }
}
