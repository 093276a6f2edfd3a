import { setTimeout as sleep } from "node:timers/promises";
import type { Environments } from "#api/components/modules/environments.ts";
import type { Config } from "#api/config.ts";
import type { Db } from "#api/db/pool.ts";
import { AppError } from "#api/errors.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import type { ModuleLogger } from "#sdk";
import { Admission, createQueueEstimates } from "./admission/admission.ts";
import type { RunRegistry } from "./live/registry.ts";
import { ProcessFeed } from "./live/registry.ts";
import type { ProcessFiles } from "./model/files.ts";
import { type Peers, STANDALONE } from "./model/peers.ts";
import type { RunObserver } from "./model/records.ts";
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
import { createOwnership } from "./ownership.ts";
import type { Pausing } from "./pausing/pausing.ts";
import { storeProgress } from "./progress.ts";
import { startRetention } from "./retention.ts";
import { Runs, SHUTDOWN_KILL_GRACE_MS } from "./run.ts";
import { EndingWriter } from "./store/endings.ts";
import { lockProcess, requeueRun } from "./store/pauses.ts";
import { countQueued, returnClaims } from "./store/queue.ts";

const SHUTDOWN_STORE_MS = 5000;
/** JSON size of a run's output or of its result. */
const MAX_VALUE_BYTES = 4 * 1024 * 1024;
const EMPTY_LOOK_MS = 10;

export type ProcessesConfig = Pick<
  Config,
  | "maxActiveProcesses"
  | "maxStdoutBytes"
  | "maxStderrBytes"
  | "maxWorkspaceBytes"
  | "maxTimeoutMs"
  | "maxCpuMs"
  | "retentionDays"
  | "retentionMax"
  | "maxRunningPerKey"
  | "timings"
>;

export interface ProcessesDeps {
  db: Db;
  environments: Environments;
  registry: RunRegistry;
  log: ModuleLogger;
  config: ProcessesConfig;
  files?: ProcessFiles;
  redactor: Redactor;
  checks: ProcessesContext["checks"];
  pausing?: Pausing | null;
  peers?: Peers;
  /** Defaults to the slots of this server. */
  countSlots?: () => number | null;
  observers?: readonly RunObserver[];
  /** W3C `traceparent` of the request in progress. By default nothing is traced. */
  traceParent?: () => string | null;
}

export interface ProcessesHealth {
  /** Excludes paused processes. */
  active: number;
  queued: number;
  running: number;
  slotsTaken: number;
  /** Milliseconds for which queued runs have not been claimed although slots were free. */
  claimWaitMs: number;
  unstored: number;
  listeners: number;
}

const refuseFiles = () => {
  throw new AppError("invalid_request", "This server has no store of files.");
};
const NO_FILES: ProcessFiles = {
  maxStoredBytes: null,
  spools: null,
  take: refuseFiles,
  open: refuseFiles,
  storeArtifacts: refuseFiles,
  store: refuseFiles,
};

export type ProcessService = ReturnType<typeof createProcessService>;

/** Call `start` once before the first request and `drain` once at the end. Throws AppErrors. */
export function createProcessService(deps: ProcessesDeps) {
  const { db, registry, log, pausing = null } = deps;
  const { retentionDays, retentionMax } = deps.config;
  const { feed, writer, runs, admission, ownership, context, awaited } = openParts(deps);
  let retention: AsyncDisposable | null = null;

  /** `isPatient`: also waits while other servers finish runs that requests to this server wait for. */
  async function waitUntilEmpty(maxMs: number, isPatient: boolean): Promise<void> {
    const deadlineMs = performance.now() + maxMs;
    const isBusy = () =>
      admission.slotsTaken > 0 ||
      registry.size > 0 ||
      (isPatient && awaited.count > 0 && admission.isHandingOver);
    while (isBusy() && performance.now() < deadlineMs) await sleep(EMPTY_LOOK_MS);
  }

  return {
    ...createOperations(context),
    ...createDecisions(context, admission, pausing),

    /** Ends runs of dead servers, joins the queue and starts retention. */
    async start(): Promise<void> {
      const recovered = await ownership.recover();
      const byKey = await countQueued(db);
      const queued = byKey.values().reduce((sum, count) => sum + count, 0);
      if (recovered.ended + queued > 0) {
        const counts = { ended: recovered.ended, queued, repeated: recovered.queued };
        log.info(counts, "took over the processes of an earlier server");
      }
      admission.open(byKey);
      retention = startRetention(db, { retentionDays, retentionMax, keyTtlMs: IDEMPOTENCY_TTL_MS }, log);
    },

    /** Leaves new and queued runs to other servers, as long as there are any. */
    leave: () => admission.leave(),
    isHandingOver: () => admission.isHandingOver,

    /**
     * Lets runs finish for up to `timeoutMs`, then interrupts them. Queued runs stay queued. Takes at most
     * `timeoutMs` + 13 s.
     */
    async drain(timeoutMs: number): Promise<void> {
      admission.stop();
      pausing?.drain();
      await waitUntilEmpty(timeoutMs, true);
      ownership[Symbol.dispose]();
      await storeProgress(db, registry, log, 0);
      runs.interruptAll();
      await waitUntilEmpty(SHUTDOWN_KILL_GRACE_MS + SHUTDOWN_STORE_MS, false);
      writer.stop();
      await waitUntilEmpty(SHUTDOWN_STORE_MS, false);
      admission[Symbol.dispose]();
      await retention?.[Symbol.asyncDispose]();
      feed.close();
    },

    /** Serves other servers that ask about runs held here. Methods return null for other runs. */
    held: {
      view: (id: number, wait: HeldWait, signal: AbortSignal) => viewHeld(context, id, wait, signal),
      calls: (id: number) => registry.get(id)?.calls.all ?? null,
      follow: (id: number, lastEventId: string | null, signal: AbortSignal) =>
        followHeld(context, id, lastEventId, signal),
    },

    reconcile: () => ownership.reconcile(),

    health(): ProcessesHealth {
      return {
        active: admission.active,
        queued: admission.queued,
        running: registry.size,
        slotsTaken: admission.slotsTaken,
        claimWaitMs: admission.claimWaitMs,
        unstored: writer.waiting,
        listeners: feed.size,
      };
    },
  };
}

function createOperations(context: ProcessesContext) {
  const { feed, peers } = context;
  return {
    /** Call before any other operation on one process. Throws not_found. */
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
    run: (id: number, body: RunSignalBody, startedBy: string, signal: AbortSignal) =>
      runProcess(context, id, body, startedBy, signal),
    kill: (id: number) => killProcess(context, id),
    remove: (id: number) => removeProcess(context, id),
  };
}

function createDecisions(context: ProcessesContext, admission: Admission, pausing: Pausing | null) {
  const { registry, feed } = context;
  return {
    /** Call first in a transaction that decides an approval. Nothing else can change the run's pauses meanwhile. */
    lockForDecision: (transaction: Db, id: number) => lockProcess(transaction, id),
    /**
     * Call inside the deciding transaction: queues the run if its child has exited. After the commit, call
     * `recordRequeued`.
     */
    requeue: (transaction: Db, id: number, approval: string) => requeueRun(transaction, id, approval),
    recordRequeued: (id: number) => admission.recordRequeued(id),
    /** Records that an approval was requested or decided on any server. Idempotent. */
    recordApproval(id: number, approval: { id: string; state: ApprovalState; reason: string | null }): void {
      const live = registry.get(id);
      if (live?.hasApprovals) live.approvals.decide(approval.id, approval.state, approval.reason);
      feed.notify(id, "data");
    },
    /** Resolves when a run whose approvals are all decided has resumed, or after a short wait. */
    async whenResumed(id: number): Promise<void> {
      const live = registry.get(id);
      const pauses = live && pausing?.find(live);
      await (pauses?.whenResumed() ?? movedElsewhere(context, id));
    },
    /** Ids of the approvals that runs on this server wait for. */
    waitingApprovals: () => pausing?.pending() ?? [],
  };
}

function openParts(deps: ProcessesDeps) {
  const { db, environments, registry, log, config, redactor, pausing = null, peers = STANDALONE } = deps;
  const feed = new ProcessFeed();
  const writer = new EndingWriter(db, log);
  const { maxActiveProcesses, maxStdoutBytes, maxStderrBytes } = config;
  const files = deps.files ?? NO_FILES;
  const limits = {
    maxStdoutBytes,
    maxWorkspaceBytes: config.maxWorkspaceBytes,
    maxStderrBytes,
    maxOutputBytes: MAX_VALUE_BYTES,
    maxResultBytes: MAX_VALUE_BYTES,
  };
  const estimates = createQueueEstimates(
    db,
    deps.countSlots ?? (() => environments.active()?.status()?.slots ?? null),
  );
  const runs = new Runs({
    environments,
    registry,
    feed,
    writer,
    limits,
    redactor,
    files,
    pausing,
    // If the database is down, the next comparison of claims requeues the run.
    requeue: async (claim) => {
      const ids = await returnClaims(db, [claim]).catch(() => []);
      for (const id of ids) admission.recordRequeued(id);
    },
    rest: (ms) => admission.rest(ms),
    log,
    observers: [estimates, ...(deps.observers ?? [])],
  });
  const admission = new Admission({
    db,
    environments,
    registry,
    feed,
    log,
    peers,
    maxActiveProcesses,
    maxRunningPerCaller: config.maxRunningPerKey,
    start: (slot, stored) => runs.start(slot, stored),
  });
  const ownership = createOwnership({
    db,
    registry,
    peers,
    log,
    holds: (claim) => admission.isAsked(claim.claim) || runs.holds(claim),
    settled: () => admission.settled,
    reconcileIntervalMs: config.timings.reconcileIntervalMs,
    compareQueue: () => admission.compare(),
    onQueued: (id) => admission.recordRequeued(id),
    onEnded: (id) => feed.notify(id, "state"),
  });
  const awaited = { count: 0 };
  const context: ProcessesContext = {
    db,
    environments,
    registry,
    feed,
    peers,
    maxima: config,
    checks: deps.checks,
    files,
    traceParent: deps.traceParent ?? (() => null),
    readApprovals: async (id) => pausing?.options.approvalStore.listEvents(db, id) ?? [],
    findPlaces: (ids) => estimates.find(ids),
    submit: (key, store) => admission.submit(key, store),
    forgetQueued: (id) => admission.forgetQueued(id),
    reconcile: () => ownership.reconcile(),
    async stayFor(end) {
      awaited.count += 1;
      try {
        return await end;
      } finally {
        awaited.count -= 1;
      }
    },
  };
  return { feed, writer, runs, admission, ownership, context, awaited };
}
