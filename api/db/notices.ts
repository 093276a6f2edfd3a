/**
 * Notices of the database, by channel: the only place that listens. One may be lost with its connection, so whoever
 * needs it looks at what is stored now and then, and whenever listening begins anew.
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
  /** Null: a notice that is none. Must not throw. */
  onNotice(notice: Notice | null): void;
  /** From now on notices come; those of before, also of an earlier connection, may have been missed. Must not throw. */
  onListening?(): void;
}

export interface Listening extends AsyncDisposable {
  /** Resolves when notices come. Rejects when the database does; nothing comes then. */
  readonly ready: Promise<void>;
}

/** Nothing is called any more once it is being disposed. */
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
  // Who does not wait for it does not want to know.
  ready.catch(() => {});
  return {
    ready,
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await closeInTime(subscribed.then((subscription) => subscription.unlisten()));
    },
  };
}

/** Waits for the end of what uses the database, but not for a database that is away. Never rejects. */
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
