/** Notices of every approval that is asked for or decided, by any server, in the order of commits; and the sweep. */
import { waitAtMost } from "../bounds/deadline.ts";
import type { Pool } from "../db/pool.ts";
import { APPROVAL_STATES, type ApprovalSummary } from "./model.ts";

const CHANNEL = "cyrnel_approvals";
const MIN_SWEEP_MS = 50;
const MAX_SWEEP_MS = 5000;
/** Sweeps in the life of an approval: how late an expiry may be noticed, as a part of it. */
const SWEEPS_PER_LIFE = 20;
/** The database may be away while a server ends. */
const CLOSE_MS = 2000;

export interface ApprovalNotice {
  id: string;
  processId: number;
  state: ApprovalSummary["state"];
}

export interface ApprovalWatchOptions {
  ttlMs: number;
  sweep(): Promise<void>;
  changed(notice: ApprovalNotice): void;
  log: { warn(fields: object, message: string): void };
}

export type ApprovalWatch = AsyncDisposable;

export async function watchApprovals(pool: Pool, options: ApprovalWatchOptions): Promise<ApprovalWatch> {
  const { sweep, changed, log, ttlMs } = options;
  const sweepMs = Math.min(Math.max(ttlMs / SWEEPS_PER_LIFE, MIN_SWEEP_MS), MAX_SWEEP_MS);
  let isClosed = false;
  /** Said once per outage. */
  let isFailing = false;
  let timer: NodeJS.Timeout | undefined;
  let sweeping: Promise<void> | null = null;

  async function look(): Promise<void> {
    try {
      await sweep();
      isFailing = false;
    } catch (error) {
      if (!isFailing && !isClosed)
        log.warn({ err: error }, "approvals cannot expire: the database does not answer");
      isFailing = true;
    }
  }

  function plan(): void {
    timer = setTimeout(() => {
      sweeping = look().finally(() => {
        sweeping = null;
        if (!isClosed) plan();
      });
    }, sweepMs).unref();
  }

  const listening = pool
    .listen(CHANNEL, (payload) => {
      const notice = readNotice(payload);
      if (notice !== null && !isClosed) changed(notice);
    })
    .catch((error) => {
      if (!isClosed) log.warn({ err: error }, "decisions of other servers are noticed by looking only");
      return null;
    });
  plan();
  return {
    async [Symbol.asyncDispose]() {
      isClosed = true;
      clearTimeout(timer);
      const closing = (async () => {
        await (await listening)?.unlisten();
        await sweeping;
      })();
      await waitAtMost(closing, CLOSE_MS, "the last look at approvals").catch(() => {});
    },
  };
}

function readNotice(payload: string): ApprovalNotice | null {
  try {
    const [id, processId, state] = JSON.parse(payload) as unknown[];
    const isWhole =
      typeof id === "string" &&
      typeof processId === "number" &&
      (APPROVAL_STATES as readonly unknown[]).includes(state);
    return isWhole ? { id, processId, state: state as ApprovalNotice["state"] } : null;
  } catch {
    return null;
  }
}
