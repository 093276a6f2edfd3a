import { type PageRequest, readNumberedPage } from "#api/bounds/page.ts";
import { createDeciding } from "./deciding.ts";
import { createExpiry } from "./expiry.ts";
import { ApprovalFeed } from "./feed.ts";
import type { ApprovalFilter, ApprovalRecord, ApprovalSummary, ApproveBody, DenyBody } from "./model.ts";
import type { ApprovalsOptions, Decider } from "./ports.ts";
import { createApprovalRecords, toSummary } from "./records.ts";
import { findApproval, listApprovals, listDecided, measureWaiting } from "./store.ts";
import { type ApprovalWatch, watchApprovals } from "./watch.ts";

export interface Approvals extends AsyncDisposable {
  list(
    filter: ApprovalFilter,
    page: PageRequest<number>,
    reader: Decider,
  ): Promise<{ approvals: ApprovalSummary[]; next: number | null }>;
  /** Throws AppError `not_found`. */
  get(id: string, reader: Decider): Promise<ApprovalRecord>;
  /** Throws AppError `not_found`, `self_approval`, `already_decided`, `approval_expired` or `invalid_request`. */
  approve(id: string, body: ApproveBody, decider: Decider): Promise<ApprovalRecord>;
  deny(id: string, body: DenyBody, decider: Decider): Promise<ApprovalRecord>;
  follow(lastEventId: string | null, reader: Decider, signal: AbortSignal): AsyncGenerator<string, void>;
  /** Call when a service or its tools have changed: approvals for removed tools expire. */
  forgetTools(serviceId: string): void;
  /** Measures the pending approvals and paused runs in the database. */
  measureWaiting(): Promise<{ approvals: number; oldestMs: number; paused: number }>;
  start(): Promise<void>;
  /** Expires due approvals; also runs regularly by itself. */
  sweep(): Promise<void>;
}

export function createApprovals(options: ApprovalsOptions): Approvals {
  const { pool, processes, log } = options;
  const feed = new ApprovalFeed();
  const records = createApprovalRecords(options);
  const expiry = createExpiry(options);
  const deciding = createDeciding(options, records, () => void expiry.sweep().catch(() => {}));
  let watch: ApprovalWatch | null = null;

  /** Handles a change that another server may have made. */
  async function onNotice(id: string): Promise<void> {
    try {
      const [row] = await listDecided(pool, [id]);
      if (row !== undefined) processes.recordApproval(row.processId, row);
    } catch (error) {
      log.warn({ err: error }, "a decision is looked for again at the next sweep");
    }
  }

  return {
    async list(filter, page, reader) {
      const { rows, next } = await readNumberedPage(
        page,
        (at) => listApprovals(pool, filter, at),
        (found) => found.filter((row) => records.isVisible(row, reader)),
      );
      return { approvals: rows.map(toSummary), next };
    },
    get: async (id, reader) => records.toRecord(await records.require(id, reader)),
    approve: async (id, body, decider) => records.toRecord(await deciding.approve(id, body, decider)),
    deny: async (id, body, decider) => records.toRecord(await deciding.deny(id, body, decider)),
    follow: (lastEventId, reader, signal) =>
      feed.follow(
        lastEventId,
        async (id) => {
          const row = await findApproval(pool, id);
          return row === null || !records.isVisible(row, reader) ? null : JSON.stringify(toSummary(row));
        },
        signal,
      ),
    forgetTools(serviceId) {
      expiry
        .expireOrphans(serviceId)
        .catch((error) => log.warn({ err: error }, "approvals of removed tools expire at the next sweep"));
    },
    async start() {
      watch = await watchApprovals(pool, {
        ttlMs: options.ttlMs,
        sweep: expiry.sweep,
        changed({ id, state }) {
          feed.note(id);
          if (state !== "pending" && !deciding.isDeciding(id)) void onNotice(id);
        },
        log,
      });
    },
    sweep: expiry.sweep,
    measureWaiting: () => measureWaiting(pool),
    async [Symbol.asyncDispose]() {
      feed.close();
      await watch?.[Symbol.asyncDispose]();
    },
  };
}
