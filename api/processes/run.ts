/**
 * The pipeline of one run, from its slot to its stored ending or to its handover to a later child. `#runToEnd` reads
 * from top to bottom. Admission decides which run gets a slot, and when.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Environments } from "#api/components/modules/environments.ts";
import { retryUntil } from "#api/db/retry.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import { readInput } from "#kernel/input.ts";
import { orAborted } from "#modules/shared/limits.ts";
import { Workspace } from "#runner/workspace/workspace.ts";
import type { ExecutionInput, ModuleLogger } from "#sdk";
import type { Slot } from "./admission/queue.ts";
import { type EnvironmentAnswer, KILLED, takeOutcome } from "./live/ending.ts";
import { KILL_GRACE_MS, memoryInForce, RunExecution } from "./live/execution.ts";
import type { ProcessFeed, RunRegistry } from "./live/registry.ts";
import { LiveRun } from "./live/run.ts";
import { MAX_FILES, type ProcessFiles, readGivenFiles } from "./model/files.ts";
import {
  type Claim,
  failedWith,
  INTERRUPTED,
  type ProcessRow,
  type RunLimits,
  type RunObserver,
  type StoredRun,
} from "./model/records.ts";
import type { Pausing } from "./pausing/pausing.ts";
import type { EndingWriter } from "./store/endings.ts";

const MAX_STORING_MS = 30_000;
/**
 * Maximum number of runs that store files without a slot. Further runs keep their slot, so that runs do not pile up
 * while the store is down.
 */
const MAX_STORING_RUNS = 64;
export const SHUTDOWN_KILL_GRACE_MS = 3000;
/** Delays before retrying to start a child. This server claims no runs meanwhile. */
const START_PAUSES_MS = [500, 1000, 2000, 4000];
const MAX_FAILED_STARTS = 1000;
const NOT_STARTED = failedWith(
  "interrupted",
  "HostError",
  `The server could not start a process for the run, in ${START_PAUSES_MS.length + 1} attempts: nothing of the script has run. The log of the server holds the cause.`,
);
const NOT_STORED = failedWith(
  "interrupted",
  "StorageError",
  "The files that the script wrote could not be stored.",
);
const NO_APPROVALS = {
  name: "InterruptedError",
  message: "The run waited for an approver, and this server has no approvals.",
  reason: "interrupted",
} as const;

export interface RunsOptions {
  environments: Environments;
  registry: RunRegistry;
  feed: ProcessFeed;
  writer: EndingWriter;
  limits: RunLimits;
  redactor: Redactor;
  files: ProcessFiles;
  pausing: Pausing | null;
  /** Requeues a claimed run that has not started. Never rejects. */
  requeue(claim: Claim): Promise<void>;
  rest(ms: number): void;
  log: ModuleLogger;
  observers: readonly RunObserver[];
}

export class Runs {
  readonly #options: RunsOptions;
  /** Claims that wait for the process's earlier child to exit, by process id. */
  readonly #waiting = new Map<number, string>();
  readonly #gone = new WeakMap<LiveRun, Promise<void>>();
  readonly #failedStarts = new Map<number, number>();
  #isInterrupting = false;
  #storingRuns = 0;

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  holds({ id, claim }: Claim): boolean {
    return this.#options.registry.get(id)?.claim === claim || this.#waiting.get(id) === claim;
  }

  /** Starts a claimed run in its slot once its earlier child has exited. */
  start(slot: Slot, stored: StoredRun): void {
    const { registry } = this.#options;
    const { id, claim } = stored.row;
    const earlier = registry.held(id);
    if (earlier === undefined) {
      this.#begin(slot, stored);
      return;
    }
    earlier.opened.dispose();
    // The claim was renewed, so the database rejects an ending of the run that is still here.
    if (!earlier.isOver) earlier.detach();
    if (earlier.phase !== "detached") registry.remove(earlier);
    this.#waiting.set(id, claim as string);
    void Promise.resolve(earlier.phase === "detached" ? this.#gone.get(earlier) : null).then(() => {
      this.#waiting.delete(id);
      this.#begin(slot, stored);
    });
  }

  /** Interrupts all current and future runs. Runs that can be replayed are left to another server. */
  interruptAll(): void {
    this.#isInterrupting = true;
    for (const live of this.#options.registry.all()) this.#interrupt(live);
  }

  #begin(slot: Slot, { row, submitted }: StoredRun): void {
    const { registry, feed, limits, environments, log, redactor, files } = this.#options;
    const { id: environment, module } = slot.lease;
    const execution = new RunExecution(row.id, module, log);
    const active = environments.active();
    const live = new LiveRun({
      row,
      environment,
      execution,
      slot,
      submitted,
      memoryMb: memoryInForce(row.memoryMb, active?.module === module ? active.status() : null),
      limits,
      openWorkspace: () =>
        new Workspace({
          files: files.open(readGivenFiles(submitted.files), row.submittedBy),
          owner: row.submittedBy,
          maxBytes: limits.maxWorkspaceBytes,
          maxFiles: MAX_FILES,
          ...(files.spools !== null && { spools: files.spools }),
        }),
      redactor,
      onChange: (change) => feed.notify(row.id, change),
      onOverdue() {
        const details = { processId: row.id, environment, timeoutMs: row.timeoutMs };
        log.error(details, "the environment did not end a run in its time; the server asks it to");
      },
    });
    registry.add(live);
    for (const observer of this.#options.observers) observer.runStarted?.(row, environment);
    if (this.#isInterrupting) this.#interrupt(live);
    feed.notify(row.id, "state");
    this.#gone.set(live, this.#runToEnd(live, execution, slot));
  }

  async #runToEnd(live: LiveRun, execution: RunExecution, slot: Slot): Promise<void> {
    const { registry, writer, pausing, limits, observers } = this.#options;
    const raw = await registry.executing.run({ id: live.id, rights: live.rights }, () =>
      live.isReplay ? this.#replay(live, execution) : execution.run(describeExecution(live, limits)),
    );
    const answer = raw === "unread" ? raw : takeOutcome(live, raw);
    if (answer === "unread") live.detach();
    else if (live.phase === "detached") await bounded(execution.confirmed);
    if (live.phase === "detached" || answer === "unread") return this.#leave(live, slot);
    if (answer.kind === "threw" && answer.isNotStarted) {
      if (this.#mayStartLater(live)) return this.#startLater(live, slot);
      live.decide(NOT_STARTED);
    }
    if (this.#failedStarts.size > 0) this.#failedStarts.delete(live.id);
    if (answer.kind === "unconfirmed") registry.holdUntil(live.id, execution.confirmed);
    if (live.isReplay && answer.kind === "returned" && answer.value === "success") {
      pausing?.checkAllReplayed(live);
    }
    await this.#keepFiles(live, slot);
    const ending = live.conclude(answer);
    live.opened.dispose();
    for (const observer of observers) observer.runEnded?.(ending, live.environment);
    slot.release();
    if (live.progress !== null) await live.progress.writing;
    const row = await writer.store(ending);
    // If the database rejected the values of the ending, no files were stored.
    if (row?.reason === ending.reason) this.#reportFiles(live, row);
    registry.remove(live);
    live.recordStored(row);
  }

  /**
   * Stores the files the run wrote. Its child has exited, so another run may use the slot. On failure, the run fails.
   */
  async #keepFiles(live: LiveRun, slot: Slot): Promise<void> {
    const { written } = live.files;
    if (written.length === 0) return;
    live.usageClock.stop();
    const { files, log } = this.#options;
    if (this.#storingRuns < MAX_STORING_RUNS) slot.release();
    this.#storingRuns += 1;
    const inTime = AbortSignal.any([AbortSignal.timeout(MAX_STORING_MS), live.files.cut]);
    const stored = await retryUntil(
      () => orAborted(files.storeArtifacts(written, live.id), inTime),
      inTime,
      (error) =>
        log.warn(
          { err: error, processId: live.id },
          "the files of a run could not be stored; they are tried again",
        ),
    );
    this.#storingRuns -= 1;
    if (stored !== null && "refused" in stored) {
      live.files.isOverQuota = true;
      live.decide(failedWith("output_limit", "StorageLimitError", stored.refused));
    } else if (stored !== null) live.files.artifacts = stored;
    else live.decide(live.state === "terminating" ? KILLED : NOT_STORED);
  }

  #reportFiles({ id, files }: LiveRun, row: ProcessRow): void {
    const { artifacts, refused: filesRefused } = files;
    if (artifacts.length === 0 && filesRefused === null) return;
    const left = { id, artifacts, filesRefused };
    for (const observer of this.#options.observers) observer.filesLeft?.(left, row);
  }

  /** Resolves with `unread` if the database is down, so that the state to replay is unknown. */
  async #replay(live: LiveRun, execution: RunExecution): Promise<EnvironmentAnswer | "unread"> {
    const { pausing } = this.#options;
    const restored = pausing === null ? NO_APPROVALS : await pausing.restore(live);
    if (restored === "unread") {
      const wasEnded = live.signal.aborted && live.phase !== "detached";
      return wasEnded ? { kind: "returned", value: "failed" } : "unread";
    }
    if ("reason" in restored) {
      live.setError(restored);
      return { kind: "returned", value: "failed" };
    }
    return execution.run({
      ...describeExecution(live, this.#options.limits),
      checkpoint: restored.checkpoint,
    });
  }

  #mayStartLater(live: LiveRun): boolean {
    return !live.signal.aborted && (this.#failedStarts.get(live.id) ?? 0) < START_PAUSES_MS.length;
  }

  async #startLater(live: LiveRun, slot: Slot): Promise<void> {
    const { id, claim } = live;
    const failed = this.#failedStarts.get(id) ?? 0;
    if (this.#failedStarts.size >= MAX_FAILED_STARTS) this.#failedStarts.clear();
    this.#failedStarts.set(id, failed + 1);
    const details = { processId: id, attempt: failed + 1 };
    this.#options.log.warn(details, "a run could not be started; it is queued again");
    this.#options.rest(START_PAUSES_MS[failed] as number);
    live.detach();
    this.#leave(live, slot);
    await this.#options.requeue({ id, claim });
  }

  #leave(live: LiveRun, slot: Slot): void {
    const { registry, feed, observers } = this.#options;
    live.opened.dispose();
    registry.remove(live);
    slot.release();
    for (const observer of observers) observer.runLeft?.(live.id);
    feed.notify(live.id, "state");
  }

  #interrupt(live: LiveRun): void {
    const { pausing } = this.#options;
    if (live.state !== "terminating" && pausing?.abandon(live)) live.detach();
    else if (live.state !== "terminating") live.decide(INTERRUPTED);
    live.execution.requestEnd(SHUTDOWN_KILL_GRACE_MS);
    live.files.cutShort(SHUTDOWN_KILL_GRACE_MS);
  }
}

function bounded(confirmed: Promise<void>): Promise<void> {
  return Promise.race([confirmed, sleep(KILL_GRACE_MS, undefined, { ref: false })]);
}

function describeExecution(live: LiveRun, limits: RunLimits): ExecutionInput {
  const { id, submitted, row, memoryMb } = live;
  const { timeoutMs, cpuMs, ref } = row;
  const { maxStdoutBytes, maxStderrBytes } = limits;
  const { code, input, inputSchema, name } = submitted;
  return {
    eid: id,
    code,
    options: {
      timeoutMs,
      maxStdoutBytes,
      maxStderrBytes,
      ...(memoryMb !== null && { memoryMb }),
      ...(cpuMs !== null && { cpuMs }),
    },
    ...(ref !== null && { ref }),
    ...(input !== null && {
      input: readInput(input, inputSchema, (warning) => live.results.warnOfInput(warning)),
    }),
    ...(name !== null && { name }),
    ...(submitted.files !== null && {
      files: readGivenFiles(submitted.files).map(({ name, size, contentType }) => ({
        name,
        size,
        contentType,
      })),
    }),
  };
}
