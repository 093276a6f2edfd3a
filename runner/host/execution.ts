/** One execution from submission to outcome, identical in every environment. */
import type {
  EnvironmentBindings,
  ErrorDetail,
  ExecutionExitState,
  ExecutionInput,
  ExecutionOutcome,
  ModuleLogger,
} from "#sdk";
import type { Wall } from "../isolation/wall.ts";
import type { Pool } from "../pool/pool.ts";
import type { Child } from "../pool/spawn.ts";
import { type PreparedSource, prepareSource } from "../preparer/prepare.ts";
import type { Monitor } from "../process/monitor.ts";
import type { UsedPackage } from "../source/modules/graph.ts";
import { DEFAULT_SESSION_LIMITS, type SessionLimits, type StartParams } from "../wire/protocol.ts";
import { createModuleReader } from "./calls/file-calls.ts";
import { RunCallHandlers } from "./calls/handlers.ts";
import { type Checkpoint, makeCheckpoint, readCheckpoint } from "./checkpoint.ts";
import { blameHost, reportSuspectedEscape } from "./outcome.ts";
import type { LoadedPackage, Packages } from "./packages/packages.ts";
import type { RunSettings } from "./settings-schema.ts";
import type { Slot, SlotPool } from "./slots.ts";
import { makeStart } from "./start-message.ts";
import {
  type RunChild,
  type RunLimits,
  type RunOnChild,
  type RunOutcome,
  type SupervisedRun,
  superviseRun,
} from "./supervisor.ts";

export interface ExecutionContext {
  config: RunSettings;
  bindings: EnvironmentBindings;
  packages: Packages;
  logger: ModuleLogger;
  pool: Pool;
  slots: SlotPool;
  monitor: Monitor;
  wall: Wall;
  /** Name of the resource that a run waits for, in messages to its author: "process" or "slot". */
  unit: string;
  /** Called if a child was or may have been taken over. */
  onSuspectedEscape?: (() => void) | undefined;
  /** Opens a run on a child that serves several runs. Without it, a child is killed after its run. */
  openRun?: ((child: Child, limits: RunLimits) => OpenRun) | undefined;
}

export interface OpenRun {
  /** The child, with a channel that ends with the run. */
  child: RunChild;
  /** Returns the final outcome, which the child's report may change. Call it once the supervised run is over. */
  conclude(outcome: RunOutcome): Promise<RunOutcome>;
  /** Resolves when the child is back in the pool or ended. Never rejects. */
  left: Promise<unknown>;
}

export interface Execution {
  readonly kill: AbortController;
  readonly over: PromiseWithResolvers<void>;
  isPaused: boolean;
  current: { run: SupervisedRun; slot: Slot; start: StartParams; packages: UsedPackage[] } | null;
}

interface Prepared {
  source: Extract<PreparedSource, { ok: true }>;
  packages: LoadedPackage[];
  checkpoint: Checkpoint | null;
  limits: RunLimits;
  sessionLimits: SessionLimits;
}

interface Taken {
  child: Child;
  opened: OpenRun | undefined;
}

/** Number of children in a row that may turn out to be gone before the host is blamed. */
const MAX_ATTEMPTS = 3;
const KILLED: ErrorDetail = { name: "KilledError", message: "The run was killed.", reason: "killed" };

/**
 * Runs `input` to its end. `isQueued` reports whether it has to wait. Rejects with `not_started` if the host cannot
 * prepare the script or start a child.
 */
export async function runExecution(
  on: ExecutionContext,
  input: ExecutionInput,
  execution: Execution,
  isQueued: boolean,
): Promise<ExecutionOutcome> {
  const { signal } = execution.kill;
  const givenAt = performance.now();
  if (isQueued) on.bindings.setState(input.eid, "queued");
  // Joins the queue before the script is prepared, because some sources take longer to prepare than others.
  const line = on.slots.acquire(on.config.queueTtlMs, signal);
  let left: Promise<unknown> | undefined;
  try {
    const prepared = await prepare(on, input);
    if ("exitState" in prepared) return prepared;
    const { slot, queuedMs } = await acquireSlot(on, line);
    if ("exitState" in slot) return slot;
    for (let attempt = 1; ; attempt++) {
      const taken = await takeChild(on, prepared.limits, signal, attempt === 1 ? input.eid : null);
      if (taken === null) return endEarly("canceled", KILLED, queuedMs);
      left = taken.opened?.left;
      const outcome = await supervise(on, input, execution, prepared, slot, taken);
      const isLost = outcome.wasNeverStarted && !signal.aborted;
      if (isLost && attempt < MAX_ATTEMPTS) continue;
      reportSuspectedEscape(on, { eid: input.eid }, outcome);
      if (isLost) {
        const why = outcome.error?.message;
        blameHost(new Error(`${attempt} children in a row ended before they had it. ${why}`));
      }
      return toOutcome(outcome, queuedMs, outcome.startedAt - givenAt - queuedMs);
    }
  } finally {
    // Also releases a slot that is granted only now.
    void line.then((slot) => {
      if (typeof slot === "string") return;
      if (left === undefined) slot.release();
      else void left.then(slot.release);
    });
  }
}

async function prepare(on: ExecutionContext, input: ExecutionInput): Promise<Prepared | ExecutionOutcome> {
  const { bindings } = on;
  const { eid, options } = input;
  let checkpoint: Checkpoint | null = null;
  try {
    if (input.checkpoint !== undefined) checkpoint = readCheckpoint(input.checkpoint);
  } catch (error) {
    const { message } = error as Error;
    return endEarly("failed", { name: "CheckpointError", message, reason: "replay_divergence" }, 0);
  }
  const source = await prepareSource(input.code, {
    name: input.name,
    readModule: input.files?.length ? createModuleReader(input, bindings) : undefined,
    findPackage: bindings.findPackage && ((request) => on.packages.find(eid, checkpoint, request)),
  }).catch(blameHost);
  if (!source.ok) return endEarly("failed", { ...source.error, reason: "syntax_error" }, 0);
  let packages: LoadedPackage[] = [];
  try {
    if (source.packages !== undefined) packages = await on.packages.load(eid, source.packages);
  } catch (error) {
    const { message } = error as Error;
    const reason = checkpoint === null ? "script_error" : "replay_divergence";
    return endEarly("failed", { name: "PackageError", message, reason }, 0);
  }
  const { memoryMb, maxMemoryMb, maxCalls, maxConcurrentCalls, maxMessageBytes } = on.config;
  const limits = {
    timeoutMs: options?.timeoutMs ?? null,
    cpuMs: options?.cpuMs ?? null,
    memoryMb: Math.min(options?.memoryMb ?? memoryMb, maxMemoryMb),
  };
  const sessionLimits = {
    ...DEFAULT_SESSION_LIMITS,
    ...{ maxCalls, maxConcurrentCalls, maxMessageBytes },
    maxStdoutBytes: options?.maxStdoutBytes ?? DEFAULT_SESSION_LIMITS.maxStdoutBytes,
    maxStderrBytes: options?.maxStderrBytes ?? DEFAULT_SESSION_LIMITS.maxStderrBytes,
  };
  return { source, packages, checkpoint, limits, sessionLimits };
}

async function acquireSlot(
  { unit, config: { queueTtlMs } }: ExecutionContext,
  line: ReturnType<SlotPool["acquire"]>,
): Promise<{ slot: Slot | ExecutionOutcome; queuedMs: number }> {
  const since = performance.now();
  const slot = await line;
  const queuedMs = performance.now() - since;
  if (slot === "aborted") return { slot: endEarly("canceled", KILLED, queuedMs), queuedMs };
  if (slot !== "expired") return { slot, queuedMs };
  const message = `No ${unit} was free within ${queueTtlMs} ms.`;
  const error: ErrorDetail = { name: "QueueTimeoutError", message, reason: "queue_timeout" };
  return { slot: endEarly("canceled", error, queuedMs), queuedMs };
}

/**
 * Takes a child and tells the bindings that the run `starting` is running. Returns null for a run that was killed.
 */
async function takeChild(
  on: ExecutionContext,
  limits: RunLimits,
  signal: AbortSignal,
  starting: number | null,
): Promise<Taken | null> {
  // In a slot, each isolate has its own limit. A process is started with its limit.
  const isUsual = on.openRun !== undefined || limits.memoryMb === on.config.memoryMb;
  const child = await on.pool.take(signal, isUsual ? undefined : limits.memoryMb).catch(blameHost);
  if (child === null) return null;
  if (starting !== null) on.bindings.setState(starting, "running");
  const opened = on.openRun?.(child, limits);
  if (limits.cpuMs !== null) limitCpu(on, child, limits.cpuMs);
  return { child, opened };
}

async function supervise(
  on: ExecutionContext,
  input: ExecutionInput,
  execution: Execution,
  { source, packages, checkpoint, limits, sessionLimits }: Prepared,
  slot: Slot,
  taken: Taken,
): Promise<RunOutcome> {
  const { bindings } = on;
  const { eid } = input;
  const start = makeStart(input, source, sessionLimits, checkpoint);
  let handlers: RunCallHandlers | null = null;
  const run = superviseTaken(taken, {
    monitor: on.monitor,
    start,
    ...(packages.length > 0 && {
      packages: on.packages.encode(packages, taken.child.ready.isFork === true),
    }),
    openCalls() {
      handlers ??= new RunCallHandlers(bindings, eid);
      return handlers;
    },
    events: {
      stdout: (data, level) => bindings.emitStdout(eid, data, level),
      stderr: (data, level) => bindings.emitStderr(eid, data, level),
      output: (value) => bindings.emitOutput(eid, value),
    },
    sessionLimits,
    limits,
    killSignal: execution.kill.signal,
    replayed: checkpoint,
    restoreAnswer:
      bindings.restoreAnswer && ((seq) => bindings.restoreAnswer?.(eid, { seq }) as Promise<void>),
  });
  execution.current = { run, slot, start, packages: source.packages ?? [] };
  const outcome = await run.outcome;
  await (handlers as RunCallHandlers | null)?.close();
  return outcome;
}

export function superviseTaken(
  { child, opened }: Taken,
  run: Omit<RunOnChild, "child" | "afterEnd">,
): SupervisedRun {
  if (opened === undefined) return superviseRun({ ...run, child, afterEnd: "kill" });
  const supervised = superviseRun({ ...run, child: opened.child, afterEnd: "keep" });
  return { ...supervised, outcome: supervised.outcome.then((outcome) => opened.conclude(outcome)) };
}

function toOutcome(outcome: RunOutcome, queuedMs: number, startMs: number): ExecutionOutcome {
  const { state: exitState, error, result, wallMs, cpuMs, peakMemoryBytes, toolCalls, warned } = outcome;
  return {
    exitState,
    usage: { queuedMs, startMs: Math.max(0, startMs), wallMs, cpuMs, peakMemoryBytes, toolCalls },
    ...warned,
    ...(error !== undefined && { error }),
    ...(result !== undefined && { result: result.value }),
  };
}

function endEarly(exitState: ExecutionExitState, error: ErrorDetail, queuedMs: number): ExecutionOutcome {
  return { exitState, error, usage: { queuedMs } };
}

/** Freezes an execution and frees its slot. Returns what a replay needs, or null if the run cannot be replayed. */
export async function pauseExecution(
  execution: Execution,
  { run, slot, start, packages }: NonNullable<Execution["current"]>,
): Promise<Checkpoint | null> {
  const frozen = await run.pause();
  execution.isPaused = true;
  slot.release();
  const { seed, randomSeed } = start;
  const kept = packages.map(({ name, range, version, digest }) => ({ name, range, version, digest }));
  const used = kept.length > 0 ? { packages: kept } : {};
  return frozen && makeCheckpoint({ seed, randomSeed, ...used, ...frozen });
}

/** Lets a paused execution continue, even if that exceeds the number of slots. */
export function resumeExecution(execution: Execution): void {
  if (!execution.isPaused) return;
  execution.isPaused = false;
  execution.current?.slot.takeBack();
  execution.current?.run.resume();
}

/** Limits the child's CPU time. A child that cannot be limited is ended, and the run takes another one. */
function limitCpu({ wall, logger, openRun }: ExecutionContext, child: Child, cpuMs: number): void {
  try {
    wall.limitCpu(child.pid, cpuMs, openRun ? "until the next" : "for good");
  } catch (error) {
    logger.warn({ err: error }, "Could not limit the CPU time of a child; it is ended.");
    child.kill();
  }
}
