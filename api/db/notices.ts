/**
 * Notices of the database, by channel: the only place that listens. A notice may be lost with its connection, so features
 * also look at what is stored now and then, and whenever listening begins anew.
 */
import type { z } from "zod";
import { waitAtMost } from "../bounds/deadline.ts";
import type { Db, Pool } from "./pool.ts";

/** The database may be away while a server ends. */
const CLOSE_MS = 2000;

export interface NoticeOptions<Notice> {
  channel: string;
  /** What a notice is, written as JSON. */
  schema: z.ZodType<Notice>;
  /** Null: the payload does not match the schema. Must not throw. */
  onNotice(notice: Notice | null): void;
  /** Listening has begun, also anew on another connection: earlier notices may have been missed. Must not throw. */
  onListening?(): void;
}

export interface Listening extends AsyncDisposable {
  /** Resolves when listening has begun. Rejects when the database does; there are no notices then. */
  readonly ready: Promise<void>;
}

/** Callbacks are no longer called once disposing has begun. */
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
  // A caller that does not await it must not end the server by an unhandled rejection.
  ready.catch(() => {});
  return {
    ready,
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await closeInTime(subscribed.then((subscription) => subscription.unlisten()));
    },
  };
}

/** Waits for work that uses the database to end, CLOSE_MS at most: the database may be away. Never rejects. */
export async function closeInTime(closing: Promise<unknown> | null): Promise<void> {
  if (closing !== null) await waitAtMost(closing, CLOSE_MS, "the end").catch(() => {});
}

/** Sends a notice to every server that listens. */
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
