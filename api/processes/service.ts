/**
 * What can be done with processes, for HTTP and for every later surface, put together: the operations of creation.ts,
 * reading.ts and signals.ts over one dispatcher, and its start and end.
 */
import type { Config } from "#api/config.ts";
import type { Db } from "#api/db/pool.ts";
import type { Environments } from "#api/modules/environments.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import type { ModuleLogger } from "#sdk";
import { createProcess, IDEMPOTENCY_TTL_MS, type Submission } from "./creation.ts";
import { Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
import { MAX_OUTPUT_BYTES, MAX_RESULT_BYTES } from "./limits.ts";
import { INTERRUPTED } from "./live/ending.ts";
import { EndingWriter } from "./live/ending-writer.ts";
import { ProcessFeed } from "./live/feed.ts";
import type { ProcessesContext } from "./lookup.ts";
import type { ListQuery, RunSignalBody } from "./model.ts";
import type { ApprovalState } from "./pausing/desk.ts";
import type { Pausing } from "./pausing/pausing.ts";
import { lockProcess, recoverPausedRuns, requeueRun } from "./pausing/store.ts";
import { getCalls, getCode, getOutput, getProcess, getStream, listPage, openEvents } from "./reading.ts";
import type { RunRegistry } from "./registry.ts";
import { startRetention } from "./retention.ts";
import { killProcess, removeProcess, runProcess } from "./signals.ts";
import { countQueued, endAbandonedRuns } from "./store-sweeps.ts";

export type ProcessesConfig = Pick<
  Config,
  | "maxActiveProcesses"
  | "maxStdoutBytes"
  | "maxStderrBytes"
  | "maxTimeoutMs"
  | "maxCpuMs"
  | "retentionDays"
  | "retentionMax"
>;

export interface ProcessesDeps {
  db: Db;
  environments: Environments;
  /** The registry the bindings of the environments were made with. */
  registry: RunRegistry;
  log: ModuleLogger;
  config: ProcessesConfig;
  /** Knows the secrets that nothing of a run may hold. */
  redactor: Redactor;
  /** The pauses that the bindings were made with. Absent: nobody can be asked. */
  pausing?: Pausing | null;
  /** Told of each run as it ended, and of the id of its environment. */
  onEnded?: DispatcherOptions["onEnded"];
}

/** Counts for readiness, metrics and leak checks. */
export interface ProcessesHealth {
  /** Queued, running and terminating: what admission counts. */
  active: number;
  queued: number;
  running: number;
  slotsTaken: number;
  /** Endings that wait for the database. */
  unstored: number;
  /** Long-polls, blocking requests and event streams. */
  listeners: number;
}

export type ProcessService = ReturnType<typeof createProcessService>;

/** Call `start` once before the first request and `drain` once at the end. Refusals are AppErrors. */
export function createProcessService(deps: ProcessesDeps) {
  const { db, environments, registry, log, config, redactor, pausing = null } = deps;
  const feed = new ProcessFeed();
  const writer = new EndingWriter(db, log);
  const { maxActiveProcesses, maxStdoutBytes, maxStderrBytes, retentionDays, retentionMax } = config;
  const limits = {
    maxStdoutBytes,
    maxStderrBytes,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    maxResultBytes: MAX_RESULT_BYTES,
  };
  const dispatcher = new Dispatcher({
    db,
    environments,
    registry,
    feed,
    writer,
    log,
    maxActiveProcesses,
    limits,
    redactor,
    pausing,
    ...(deps.onEnded && { onEnded: deps.onEnded }),
  });
  const context: ProcessesContext = {
    db,
    environments,
    registry,
    feed,
    dispatcher,
    maxima: config,
    readApprovals: async (id) => pausing?.options.desk.listEvents(db, id) ?? [],
  };
  let retention: AsyncDisposable | null = null;

  return {
    create: (submission: Submission) => createProcess(context, submission),
    get: (id: number, waitMs: number, signal: AbortSignal) => getProcess(context, id, waitMs, signal),
    list: (query: ListQuery, before: number | null) => listPage(context, query, before),
    getCode: (id: number) => getCode(context, id),
    getOutput: (id: number) => getOutput(context, id),
    getStream: (id: number, stream: "stdout" | "stderr") => getStream(context, id, stream),
    getCalls: (id: number) => getCalls(context, id),
    follow: (id: number, lastEventId: string | null, signal: AbortSignal) =>
      openEvents(context, id, lastEventId, signal),
    run: (id: number, body: RunSignalBody, signal: AbortSignal) => runProcess(context, id, body, signal),
    kill: (id: number) => killProcess(context, id),
    remove: (id: number) => removeProcess(context, id),

    /** Ends what a dead server left running, takes over its queue, begins retention. */
    async start(): Promise<void> {
      const nobody = { except: [], olderThanMs: null };
      const repeated = await recoverPausedRuns(db, nobody);
      const ended = await endAbandonedRuns(db, INTERRUPTED.error, nobody);
      const queued = await countQueued(db);
      if (ended + queued > 0)
        log.info({ ended, queued, repeated }, "took over the processes of an earlier server");
      dispatcher.open(queued);
      retention = startRetention(db, { retentionDays, retentionMax, keyTtlMs: IDEMPOTENCY_TTL_MS }, log);
    },

    /** Lets runs finish for up to `timeoutMs`, then ends them as interrupted; queued processes stay queued. */
    async drain(timeoutMs: number): Promise<void> {
      await dispatcher.drain(timeoutMs);
      feed.close();
      await retention?.[Symbol.asyncDispose]();
    },

    /** First in a transaction that decides about an approval: nothing else changes the run's pauses meanwhile. */
    lockForDecision: (transaction: Db, id: number) => lockProcess(transaction, id),
    /** In that transaction: a run that no child holds is queued, if the approval is decided. Then `noteRequeued` after the commit. */
    requeue: (transaction: Db, id: number, approval: string) => requeueRun(transaction, id, approval),
    noteRequeued: (id: number) => dispatcher.noteRequeued(id),
    /** An approval of a process was asked for or decided, here or elsewhere. Any number of times. */
    noteApproval(id: number, approval: { id: string; state: ApprovalState; reason: string | null }): void {
      registry.pauses(id)?.decided(approval.id, approval.state, approval.reason);
      feed.notify(id, "data");
    },
    /** Resolves when a run of this server that is asked about no more has gone on. */
    whenMoved: async (id: number) => registry.pauses(id)?.whenMoved(),
    /** Approvals that runs of this server wait for. */
    waitingApprovals: () => registry.all().flatMap(({ pauses }) => pauses?.pending ?? []),

    /** Also runs by itself every 30 s. */
    reconcile: () => dispatcher.reconcile(),

    health(): ProcessesHealth {
      return {
        active: dispatcher.active,
        queued: dispatcher.queued,
        running: registry.size,
        slotsTaken: dispatcher.slotsTaken,
        unstored: writer.waiting,
        listeners: feed.size,
      };
    },
  };
}
