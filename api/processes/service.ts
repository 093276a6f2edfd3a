/**
 * What can be done with processes, for HTTP and for every later surface, put together: the operations of creation.ts,
 * reading.ts and signals.ts over one dispatcher, and its start and end.
 */

import type { Environments } from "#api/components/modules/environments.ts";
import type { Config } from "#api/config.ts";
import type { Db } from "#api/db/pool.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import type { ModuleLogger } from "#sdk";
import { Dispatcher, type DispatcherOptions } from "./admission/dispatcher.ts";
import { createQueueEstimates } from "./admission/estimates.ts";
import { ProcessFeed } from "./live/feed.ts";
import type { RunRegistry } from "./live/registry.ts";
import { MAX_OUTPUT_BYTES, MAX_RESULT_BYTES } from "./model/limits.ts";
import { ALONE, type Peers } from "./model/peers.ts";
import type { ListQuery, RunSignalBody } from "./model/schemas.ts";
import type { ApprovalState } from "./model/states.ts";
import { createProcess, IDEMPOTENCY_TTL_MS, type Submission } from "./operations/create.ts";
import { followList } from "./operations/events.ts";
import { followHeld, type HeldWait, openEvents, viewHeld } from "./operations/follow.ts";
import {
  movedElsewhere,
  type ProcessesContext,
  requireVisible,
  seesAll,
  type Viewer,
} from "./operations/lookup.ts";
import { getCalls, getCode, getOutput, getProcess, getStream, listPage } from "./operations/read.ts";
import { killProcess, removeProcess, runProcess } from "./operations/signals.ts";
import { createHeldClaims, recoverRuns } from "./ownership.ts";
import type { Pausing } from "./pausing/pausing.ts";
import { startRetention } from "./retention.ts";
import { EndingWriter } from "./store/endings.ts";
import { lockProcess, requeueRun } from "./store/pauses.ts";
import { countQueued } from "./store/queue.ts";

export type ProcessesConfig = Pick<
  Config,
  | "maxActiveProcesses"
  | "maxStdoutBytes"
  | "maxStderrBytes"
  | "maxTimeoutMs"
  | "maxCpuMs"
  | "retentionDays"
  | "retentionMax"
  | "maxRunningPerKey"
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
  /** The other servers on the database. Default: there are none. */
  peers?: Peers;
  /** Runs at once over all servers. Default: of this one. */
  countSlots?: () => number | null;
  /** Told of each run as it ended, and of the id of its environment. */
  onEnded?: DispatcherOptions["onEnded"];
  /** Told where each run begins, and where one is left to a later child. */
  onStarted?: DispatcherOptions["onStarted"];
  onLeft?: DispatcherOptions["onLeft"];
  /** W3C `traceparent` of the request that is being served. Default: none is traced. */
  traceParent?: () => string | null;
}

/** Counts for readiness, metrics and leak checks. */
export interface ProcessesHealth {
  /** Queued, running and terminating: what admission counts. */
  active: number;
  queued: number;
  running: number;
  slotsTaken: number;
  /** How long what waits in the queue has not been claimed although there was room, in milliseconds. */
  claimWaitMs: number;
  /** Endings that wait for the database. */
  unstored: number;
  /** Long-polls, blocking requests and event streams. */
  listeners: number;
}

export type ProcessService = ReturnType<typeof createProcessService>;

/** Call `start` once before the first request and `drain` once at the end. Refusals are AppErrors. */
export function createProcessService(deps: ProcessesDeps) {
  const { db, environments, registry, log, config, redactor, pausing = null, peers = ALONE } = deps;
  const feed = new ProcessFeed();
  const writer = new EndingWriter(db, log);
  const { maxActiveProcesses, maxStdoutBytes, maxStderrBytes, retentionDays, retentionMax } = config;
  const limits = {
    maxStdoutBytes,
    maxStderrBytes,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    maxResultBytes: MAX_RESULT_BYTES,
  };
  const estimates = createQueueEstimates(
    db,
    deps.countSlots ?? (() => environments.active()?.status()?.slots ?? null),
  );
  const dispatcher = new Dispatcher({
    db,
    environments,
    registry,
    feed,
    writer,
    log,
    peers,
    maxActiveProcesses,
    maxRunningPerCaller: config.maxRunningPerKey,
    limits,
    redactor,
    pausing,
    ...(deps.onStarted && { onStarted: deps.onStarted }),
    ...(deps.onLeft && { onLeft: deps.onLeft }),
    onEnded(ending, environment) {
      estimates.noteEnded(ending.usage.wallMs);
      deps.onEnded?.(ending, environment);
    },
  });
  const claims = createHeldClaims({ db, registry, requestEnd: (live) => dispatcher.requestEnd(live), log });
  const open = new DisposableStack();
  const context: ProcessesContext = {
    db,
    environments,
    registry,
    feed,
    dispatcher,
    peers,
    estimates,
    maxima: config,
    traceParent: deps.traceParent ?? (() => null),
    readApprovals: async (id) => pausing?.options.desk.listEvents(db, id) ?? [],
  };
  let retention: AsyncDisposable | null = null;

  return {
    /** Before everything else that is asked about one process. Throws not_found. */
    requireVisible: (id: number, viewer: Viewer) => requireVisible(context, id, viewer),
    create: (submission: Submission) => createProcess(context, submission),
    get: (id: number, waitMs: number, signal: AbortSignal) => getProcess(context, id, waitMs, signal),
    list: (query: ListQuery, before: number | null, viewer: Viewer) =>
      listPage(context, query, before, viewer),
    getCode: (id: number) => getCode(context, id),
    getOutput: (id: number) => getOutput(context, id),
    getStream: (id: number, stream: "stdout" | "stderr") => getStream(context, id, stream),
    getCalls: (id: number) => getCalls(context, id),
    follow: (id: number, lastEventId: string | null, signal: AbortSignal) =>
      openEvents(context, id, lastEventId, signal),
    followList: (viewer: Viewer, signal: AbortSignal) => followList(feed, peers, seesAll(viewer), signal),
    /** `startedBy`: the id of the caller. */
    run: (id: number, body: RunSignalBody, startedBy: string, signal: AbortSignal) =>
      runProcess(context, id, body, startedBy, signal),
    kill: (id: number) => killProcess(context, id),
    remove: (id: number) => removeProcess(context, id),

    /** Ends what dead servers left running, takes part in the queue, begins retention. */
    async start(): Promise<void> {
      const judging = { replica: peers.id, unheld: null, maxSilentMs: peers.maxSilentMs };
      const { queued: repeated, ended } = await recoverRuns(db, judging, true);
      const queued = await countQueued(db);
      if (ended.length + queued > 0)
        log.info(
          { ended: ended.length, queued, repeated: repeated.length },
          "took over the processes of an earlier server",
        );
      open.defer(
        peers.onNews((news, ids) => {
          if (news === "kill") claims.checkKilled(ids).catch(() => {});
        }),
      );
      open.defer(peers.onBeat(() => claims.check(peers.takeWasSilent())));
      dispatcher.open(queued);
      retention = startRetention(db, { retentionDays, retentionMax, keyTtlMs: IDEMPOTENCY_TTL_MS }, log);
    },

    /** What is submitted from now on, and what is queued, is left to other servers, as long as there are any. */
    leave: () => dispatcher.leave(),
    /** Whether other servers run what is submitted here. */
    isHandingOver: () => dispatcher.isHandingOver,

    /** Lets runs finish for up to `timeoutMs`, then ends them as interrupted; queued processes stay queued. */
    async drain(timeoutMs: number): Promise<void> {
      await dispatcher.drain(timeoutMs);
      open.dispose();
      await retention?.[Symbol.asyncDispose]();
      feed.close();
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
    /** Resolves when a run that is asked about no more has gone on; soon in any case. */
    whenMoved: async (id: number) => registry.pauses(id)?.whenMoved() ?? movedElsewhere(context, id),
    /** Approvals that runs of this server wait for. */
    waitingApprovals: () => registry.all().flatMap(({ pauses }) => pauses?.pending ?? []),

    /** For other servers: what this one holds, or null. `from` is as for `follow`. */
    held: {
      view: (id: number, wait: HeldWait, signal: AbortSignal) => viewHeld(context, id, wait, signal),
      calls: (id: number) => registry.get(id)?.trail.calls ?? null,
      follow: (id: number, lastEventId: string | null, signal: AbortSignal) =>
        followHeld(context, id, lastEventId, signal),
    },

    /** Also runs by itself. */
    reconcile: () => dispatcher.reconcile(),

    health(): ProcessesHealth {
      return {
        active: dispatcher.active,
        queued: dispatcher.queued,
        running: registry.size,
        slotsTaken: dispatcher.slotsTaken,
        claimWaitMs: dispatcher.claimWaitMs,
        unstored: writer.waiting,
        listeners: feed.size,
      };
    },
  };
}
