/**
 * Checks every second that the database executes statements and that queued runs are claimed. Otherwise this server
 * is not ready. If the problem persists although the database works, the server should be restarted.
 */
import type { Timings } from "#api/config/timings.ts";
import type { Pool } from "#api/db/pool.ts";
import { probeWriting } from "#api/db/reachability.ts";

export interface SelfCheckOptions {
  pool: Pool;
  priorityPool: Pool;
  database: { readonly reachable: boolean };
  processes: { health(): { claimWaitMs: number } };
  timings: Pick<Timings, "maxStuckMs" | "minWritable">;
  /** Called once, with the reason, when only a restart can make this server work again. */
  onStuck?: ((reason: string) => void) | undefined;
}

export interface SelfCheck extends Disposable {
  /** Milliseconds since the last successful statement on the connections that the features use. */
  readonly silentMs: number;
}

const INTERVAL_MS = 1000;

export function startSelfCheck(options: SelfCheckOptions): SelfCheck {
  const { pool, priorityPool, database, processes, onStuck } = options;
  const { maxStuckMs, minWritable } = options.timings;
  let answeredMs = performance.now();
  let isAsking = false;
  let isProbing = false;
  let writable = 0;
  const silentMs = () => performance.now() - answeredMs;

  function findReason(): string | null {
    const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;
    if (silentMs() > maxStuckMs) return `for ${seconds(silentMs())} no statement of this server was answered`;
    const { claimWaitMs } = processes.health();
    if (claimWaitMs > maxStuckMs)
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
    if (reason === null || writable < minWritable) return;
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
