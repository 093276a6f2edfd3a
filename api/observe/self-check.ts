/**
 * Whether this server still does its work, by a look of its own each second: statements are answered, and what waits in
 * the queue is claimed. One that does not is not ready; one that goes on so while its database is in order is to be ended.
 */
import type { Pool } from "#api/db/pool.ts";
import { probeWriting } from "#api/db/reachability.ts";

export interface SelfCheckOptions {
  /** What the features use. */
  pool: Pool;
  /** Another way to the same database. */
  priorityPool: Pool;
  database: { readonly reachable: boolean };
  processes: { health(): { claimWaitMs: number } };
  /** Called once, with a sentence: nothing but a new start makes this one work again. */
  onStuck?: ((reason: string) => void) | undefined;
}

export interface SelfCheck extends Disposable {
  /** How long ago a statement was answered over the connections that the features use, in milliseconds. */
  readonly silentMs: number;
}

const INTERVAL_MS = 1000;
/** Longer than a statement that is ended for its time is waited for (db/pool.ts): the next one may be answered. */
const MAX_STUCK_MS = 30_000;
/** How often in a row, a second apart, another connection must be able to write: the database itself is in order. */
const MIN_WRITABLE = 20;

export function startSelfCheck(options: SelfCheckOptions): SelfCheck {
  const { pool, priorityPool, database, processes, onStuck } = options;
  let answeredMs = performance.now();
  let isAsking = false;
  let isProbing = false;
  let writable = 0;
  const silentMs = () => performance.now() - answeredMs;

  function findReason(): string | null {
    const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;
    if (silentMs() > MAX_STUCK_MS)
      return `for ${seconds(silentMs())} no statement of this server was answered`;
    const { claimWaitMs } = processes.health();
    if (claimWaitMs > MAX_STUCK_MS)
      return `for ${seconds(claimWaitMs)} queued processes could not be claimed by this server`;
    return null;
  }

  async function ask(): Promise<void> {
    if (isAsking) return;
    isAsking = true;
    try {
      await pool`select 1`;
      answeredMs = performance.now();
    } catch {
      // Silence grows.
    } finally {
      isAsking = false;
    }
  }

  async function probe(): Promise<void> {
    if (isProbing) return;
    isProbing = true;
    const isWritable = await probeWriting(priorityPool).then(
      () => true,
      () => false,
    );
    isProbing = false;
    const reason = findReason();
    writable = isWritable && reason !== null ? writable + 1 : 0;
    if (reason === null || writable < MIN_WRITABLE) return;
    clearInterval(timer);
    onStuck?.(`${reason}, although the database answers`);
  }

  const timer = setInterval(() => {
    void ask();
    if (database.reachable && findReason() !== null) void probe();
    else writable = 0;
  }, INTERVAL_MS).unref();
  return {
    get silentMs() {
      return silentMs();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
