/** Removes expired rows periodically, in small batches, on one server at a time. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ModuleLogger } from "#sdk";
import type { Db } from "./pool.ts";

const TURN = 0.9;

export interface Sweep {
  name: string;
  everyMs: number;
  /** Returns the number of removed rows. Stops early when the signal aborts. */
  remove(signal: AbortSignal): Promise<number>;
  what: string;
  log: Pick<ModuleLogger, "info" | "warn">;
}

/** Sweeps at once and then in turn with other servers until disposed. Disposing waits for the current batch. */
export function startSweeps(db: Db, { name, everyMs, remove, what, log }: Sweep): AsyncDisposable {
  const stopped = new AbortController();
  const { signal } = stopped;
  const sweeping = (async () => {
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      try {
        const isDue = (await takeTurn(db, name, everyMs * TURN)) || isFirst;
        const removed = isDue ? await remove(signal) : 0;
        if (removed > 0) log.info({ removed }, `${what} were removed by retention`);
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, `${what} could not be swept; trying again later`);
      }
      await sleep(everyMs, undefined, { signal, ref: false }).catch(() => {});
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await sweeping;
    },
  };
}

export async function removeInBatches(
  removeBatch: (maxRows: number) => Promise<number>,
  maxRows: number,
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const batch = await removeBatch(maxRows);
    removed += batch;
    if (batch < maxRows || signal?.aborted) return removed;
  }
}

/**
 * Returns true if this server may sweep: by the database's clock, no server has started a sweep in the last
 * `everyMs`.
 */
async function takeTurn(db: Db, name: string, everyMs: number): Promise<boolean> {
  const rows = await db`
    insert into sweep_turns as t (name) values (${name})
    on conflict (name) do update set taken_at = now()
      where t.taken_at <= now() - make_interval(secs => ${everyMs / 1000})
    returning name`;
  return rows.length === 1;
}
