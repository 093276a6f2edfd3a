/**
 * The way of one run, from its slot to its stored ending, or to the moment its child leaves it to a later one:
 * `#carry` reads from top to bottom. Which run gets a slot, and when, is for admission/.
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
import { type EnvironmentAnswer, isOutcome, KILLED } from "./live/ending.ts";
import { KILL_GRACE_MS, memoryInForce, RunExecution } from "./live/execution.ts";
import type { ProcessFeed, RunRegistry } from "./live/registry.ts";
import { LiveRun } from "./live/run.ts";
import { MAX_FILES, type ProcessFile, type ProcessFiles } from "./model/files.ts";
import {
  type Claim,
  failedWith,
  INTERRUPTED,
  type ProcessRow,
  type RunLimits,
  type RunObserver,
  type StoredRun,
  type Submitted,
} from "./model/records.ts";
import type { Pausing } from "./pausing/pausing.ts";
import type { EndingWriter } from "./store/endings.ts";

/** How long storing what a run wrote is tried. */
const MAX_STORING_MS = 30_000;
/** Runs whose files are stored without a slot; more keep theirs, so that a store that is away is not filled up with runs. */
const MAX_STORING_RUNS = 64;
export const SHUTDOWN_KILL_GRACE_MS = 3000;
/** Attempts of this server to start a child for one run, and how long it claims no other run after each but the last. */
const START_PAUSES_MS = [500, 1000, 2000, 4000];
/** Processes whose attempts are counted: others may have been started elsewhere, or were canceled. */
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
  message: "The run waited for a person, and this server has no approvals.",
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
  /** Null: no person can be asked. */
  pausing: Pausing | null;
  /** Puts a claimed run of which nothing has run back into the queue. Never rejects. */
  requeue(claim: Claim): Promise<void>;
  /** Begins no run for so long. */
  rest(ms: number): void;
  log: ModuleLogger;
  observers: readonly RunObserver[];
}

export class Runs {
  readonly #options: RunsOptions;
  /** Claims that wait until an earlier child of the same process has gone, by process id. */
  readonly #waiting = new Map<number, string>();
  readonly #gone = new WeakMap<LiveRun, Promise<void>>();
  /** How often each process could not be started, one time after another. */
  readonly #failedStarts = new Map<number, number>();
  #isInterrupting = false;
  #storingRuns = 0;

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  /** Whether what was claimed with this token runs here, or is about to. */
  holds({ id, claim }: Claim): boolean {
    return this.#options.registry.get(id)?.claim === claim || this.#waiting.get(id) === claim;
  }

  /** A claimed run begins in its slot, as soon as an earlier child of it has gone. */
  start(slot: Slot, stored: StoredRun): void {
    const { registry } = this.#options;
    const { id, claim } = stored.row;
    const earlier = registry.held(id);
    if (earlier === undefined) {
      this.#begin(slot, stored);
      return;
    }
    earlier.opened.dispose();
    // The claim was given anew: what still runs here is this server's no more. The database refuses an ending that comes now.
    if (!earlier.isOver) earlier.detach();
    if (earlier.phase !== "detached") registry.remove(earlier);
    this.#waiting.set(id, claim as string);
    void Promise.resolve(earlier.phase === "detached" ? this.#gone.get(earlier) : null).then(() => {
      this.#waiting.delete(id);
      this.#begin(slot, stored);
    });
  }

  /** Ends every run, and every one that begins from now on, as interrupted; what can be repeated is left to the next server. */
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
          files: files.open(readGiven(submitted), row.submittedBy),
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
    this.#gone.set(live, this.#carry(live, execution, slot));
  }

  async #carry(live: LiveRun, execution: RunExecution, slot: Slot): Promise<void> {
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
    // Of an ending whose values the database refused, nothing was left.
    if (row?.reason === ending.reason) this.#reportFiles(live, row);
    registry.remove(live);
    live.recordStored(row);
  }

  /**
   * Stores what the run wrote. Its child has ended, so others may have its slot meanwhile. Where it fails the run has failed: its
   * record names no file that is not there.
   */
  async #keepFiles(live: LiveRun, slot: Slot): Promise<void> {
    const { written } = live.files;
    if (written.length === 0) return;
    live.stopClock();
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
    for (const observer of this.#options.observers) {
      observer.filesLeft?.({ id, artifacts, filesRefused }, row);
    }
  }

  /** A later child of a run that an earlier one left. `unread`: the database did not say what to repeat. */
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

  /** Unless it was to end meanwhile, or has been tried often enough. */
  #mayStartLater(live: LiveRun): boolean {
    return !live.signal.aborted && (this.#failedStarts.get(live.id) ?? 0) < START_PAUSES_MS.length;
  }

  /** Back into the queue, for another server or for this one when it claims again. */
  async #startLater(live: LiveRun, slot: Slot): Promise<void> {
    const { id, claim } = live;
    const failed = this.#failedStarts.get(id) ?? 0;
    if (this.#failedStarts.size >= MAX_FAILED_STARTS) this.#failedStarts.clear();
    this.#failedStarts.set(id, failed + 1);
    this.#options.log.warn(
      { processId: id, attempt: failed + 1 },
      "a run could not be started; it is queued again",
    );
    this.#options.rest(START_PAUSES_MS[failed] as number);
    live.detach();
    this.#leave(live, slot);
    await this.#options.requeue({ id, claim });
  }

  /** No child of this server holds the run any more. */
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

/** A whole outcome is taken apart, so that the exit state is left: what older modules report before they answer. */
function takeOutcome(live: LiveRun, answer: EnvironmentAnswer): EnvironmentAnswer {
  if (answer.kind !== "returned" || !isOutcome(answer.value)) return answer;
  const { exitState, error, result, usage, warnings, droppedWarnings } = answer.value;
  try {
    if (usage !== undefined) live.setUsage(usage);
    if (warnings !== undefined) live.results.setWarnings(warnings, droppedWarnings ?? 0);
    if (error !== undefined) live.setError(error);
    if (result !== undefined) live.setResult(result);
    return { kind: "returned", value: exitState };
  } catch {
    // An error that is neither a text nor a detail: nothing of the outcome can be relied on.
    return { kind: "returned", value: null };
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
      files: readGiven(submitted).map(({ name, size, contentType }) => ({ name, size, contentType })),
    }),
  };
}

/** What runs of it find in their workspace. */
function readGiven({ files }: Submitted): ProcessFile[] {
  return files === null ? [] : JSON.parse(files);
}
