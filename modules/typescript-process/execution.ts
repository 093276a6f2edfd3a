/**
 * One execution from its submission to its outcome: prepares the source, waits for a slot, takes a child and has it
 * supervised.
 */
import { createHostCalls } from "#runner/host/host-calls.ts";
import { logSuspicion } from "#runner/host/outcome.ts";
import { createPausable, findCheckpointFault, type PausableRun } from "#runner/host/pausable.ts";
import { toSessionLimits, toStartParams } from "#runner/host/run-settings.ts";
import { type RunOutcome, superviseRun } from "#runner/host/supervisor.ts";
import type { Monitor } from "#runner/process/monitor.ts";
import type { Child } from "#runner/process/spawn.ts";
import { prepareSource } from "#runner/source/prepare.ts";
import type {
  EnvironmentBindings,
  ErrorDetail,
  ExecutionExitState,
  ExecutionInput,
  ExecutionOutcome,
  ModuleLogger,
} from "#sdk";
import type { Children } from "./children.ts";
import type { ProcessConfig } from "./config.ts";
import type { Slot, Slots } from "./slots.ts";

/** What executions share. */
export interface ExecutionContext {
  config: ProcessConfig;
  bindings: EnvironmentBindings;
  logger: ModuleLogger;
  children: Children;
  monitor: Monitor;
  slots: Slots;
}

/** Children that may turn out to be gone, one after another, before a run is given up. */
const MAX_ATTEMPTS = 3;
const KILLED: ErrorDetail = { name: "KilledError", message: "The run was killed.", reason: "killed" };

/** The means to pause an execution that has a child. */
export interface ExecutionPause {
  pause(): Promise<unknown>;
  resume(): void;
}

/**
 * Runs `input` to its end. Aborting the signal is a kill. `onStart` is given the means to pause it, anew if another child
 * has to be taken. Rejects only when no child can be started.
 */
export async function runExecution(
  on: ExecutionContext,
  input: ExecutionInput,
  signal: AbortSignal,
  onStart: (pause: ExecutionPause) => void,
): Promise<ExecutionOutcome> {
  const { eid } = input;
  const givenAt = performance.now();
  let queuedMs = 0;
  const refuse = (exitState: ExecutionExitState, error: ErrorDetail): ExecutionOutcome => ({
    exitState,
    error,
    usage: { queuedMs },
  });
  const fault = findCheckpointFault(input.checkpoint);
  if (fault !== null) return refuse("failed", fault);
  if (on.slots.isFull) on.bindings.setState(eid, "queued");
  // In line from the first moment: preparing takes longer for one source than for another.
  const acquiring = on.slots.acquire(on.config.queueTtlMs, signal);
  const source = await prepareSource(input.code);
  if (!source.ok) {
    void acquiring.then((unused) => unused[Symbol.dispose]());
    return refuse("failed", { ...source.error, reason: "syntax_error" });
  }
  const preparedAt = performance.now();
  using slot = holdSlot(on.slots, await acquiring);
  queuedMs = performance.now() - preparedAt;
  if (slot.refused === "expired") {
    const message = `No process was free within ${on.config.queueTtlMs} ms.`;
    return refuse("canceled", { name: "QueueTimeoutError", message, reason: "queue_timeout" });
  }
  if (slot.refused === "aborted") return refuse("canceled", KILLED);
  const outcome = await runOnChild(on, input, source, signal, (run) => onStart(givingUp(slot, run)));
  if (outcome === null) return refuse("canceled", KILLED);
  const { wallMs, cpuMs, peakMemoryBytes, toolCalls } = outcome;
  const startMs = Math.max(0, outcome.startedAt - givenAt - queuedMs);
  logSuspicion(on.logger, eid, outcome);
  const { state: exitState, error, result } = outcome;
  return {
    exitState,
    usage: { queuedMs, startMs, wallMs, cpuMs, peakMemoryBytes, toolCalls },
    ...(error !== undefined && { error }),
    ...(result !== undefined && { result: result.value }),
  };
}

interface HeldSlot extends Slot {
  release(): void;
  takeBack(): void;
}

/** A slot that can be given up for a while. */
function holdSlot(slots: Slots, first: Slot): HeldSlot {
  let held: Slot | null = first;
  const release = () => {
    held?.[Symbol.dispose]();
    held = null;
  };
  return {
    ...(first.refused !== undefined && { refused: first.refused }),
    release,
    takeBack: () => {
      held ??= slots.exceed();
    },
    [Symbol.dispose]: release,
  };
}

/** A frozen run needs no slot: others may have it. */
function givingUp(slot: HeldSlot, run: PausableRun): ExecutionPause {
  return {
    async pause() {
      const checkpoint = await run.pause();
      slot.release();
      return checkpoint;
    },
    resume() {
      slot.takeBack();
      run.resume();
    },
  };
}

/**
 * Takes a child and runs on it; again on a fresh one if it was gone before it could take the script. Null if
 * the execution was killed before it had a child.
 */
async function runOnChild(
  on: ExecutionContext,
  input: ExecutionInput,
  source: { code: string; mappings: string },
  signal: AbortSignal,
  onStart: (run: PausableRun) => void,
): Promise<RunOutcome | null> {
  const { eid, options } = input;
  const { bindings, config } = on;
  const memoryMb = Math.min(options?.memoryMb ?? config.memoryMb, config.maxMemoryMb);
  const sessionLimits = toSessionLimits(config, options);
  for (let attempt = 1; ; attempt++) {
    const child = await takeChild(on, memoryMb, signal);
    if (child === null) return null;
    if (attempt === 1) bindings.setState(eid, "running");
    limitCpu(on, child, options?.cpuMs ?? null);
    const pausable = createPausable(input.checkpoint);
    onStart(pausable);
    const outcome = await superviseRun({
      child,
      monitor: on.monitor,
      start: toStartParams(input, source, sessionLimits, pausable.repeat),
      calls: createHostCalls(bindings, eid),
      events: {
        stdout: (data) => bindings.emitStdout(eid, data),
        stderr: (data) => bindings.emitStderr(eid, data),
        output: (value) => bindings.emitOutput(eid, value),
      },
      sessionLimits,
      limits: { timeoutMs: options?.timeoutMs ?? null, cpuMs: options?.cpuMs ?? null, memoryMb },
      killSignal: signal,
      afterEnd: "kill",
      ...pausable.supervised,
    });
    on.children.watchEnd(child);
    if (!outcome.wasNeverStarted || attempt === MAX_ATTEMPTS) return outcome;
  }
}

/** A child that cannot be limited is ended; the run then goes to another one. */
function limitCpu({ children, logger }: ExecutionContext, child: Child, cpuMs: number | null): void {
  if (cpuMs === null) return;
  try {
    children.wall.limitCpu(child.pid, cpuMs, "for good");
  } catch (error) {
    logger.warn({ err: error }, "The CPU time of a child could not be limited; it is ended.");
    child.kill();
  }
}

/** Null if the execution was killed meanwhile. */
async function takeChild(on: ExecutionContext, memoryMb: number, signal: AbortSignal): Promise<Child | null> {
  const { pool, startWith } = on.children;
  const isUsual = memoryMb === on.config.memoryMb;
  const taking = isUsual ? pool.take() : startWith(memoryMb, signal);
  const aborted = Promise.withResolvers<null>();
  const onAbort = () => aborted.resolve(null);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const child = await Promise.race([taking, aborted.promise]);
    if (!signal.aborted) return child;
    taking.then(
      (late) => (isUsual ? pool.giveBack(late) : late.kill()),
      () => {},
    );
    return null;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
