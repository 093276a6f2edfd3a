/**
 * Receives notifications of all approvals requested or decided on any server, in commit order, and runs the regular
 * sweep.
 */
import { z } from "zod";
import { closeInTime, listenFor } from "../db/notices.ts";
import type { Pool } from "../db/pool.ts";
import { APPROVAL_STATES } from "./model.ts";

const CHANNEL = "cyrnel_approvals";
const MIN_SWEEP_MS = 50;
const MAX_SWEEP_MS = 5000;
/** Number of sweeps per approval lifetime. Determines how late an expiry may be noticed. */
const SWEEPS_PER_LIFE = 20;

/** Id, process and state, as written by the database trigger. */
const noticeSchema = z
  .tuple([z.string(), z.number(), z.enum(APPROVAL_STATES)])
  .transform(([id, processId, state]) => ({ id, processId, state }));
export type ApprovalNotice = z.output<typeof noticeSchema>;

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
  /** Set to log an outage only once. */
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

  const listening = listenFor(pool, {
    channel: CHANNEL,
    schema: noticeSchema,
    onNotice: (notice) => notice !== null && changed(notice),
  });
  listening.ready.catch((error) => {
    if (!isClosed) log.warn({ err: error }, "decisions of other servers are noticed by looking only");
  });
  plan();
  return {
    async [Symbol.asyncDispose]() {
      isClosed = true;
      clearTimeout(timer);
      await listening[Symbol.asyncDispose]();
      await closeInTime(sweeping);
    },
  };
}
