/** One run on one slot: its limits, its session, and what it came to, seen from both sides. */
import { createHostCalls } from "#runner/host/host-calls.ts";
import { judge, type Verdict } from "#runner/host/outcome.ts";
import type { PausableRun } from "#runner/host/pausable.ts";
import { toSessionLimits, toStartParams } from "#runner/host/run-settings.ts";
import { type RunLimits, type RunOutcome, superviseRun } from "#runner/host/supervisor.ts";
import type { Wall } from "#runner/isolation/wall.ts";
import type { Monitor } from "#runner/process/monitor.ts";
import type { EnvironmentBindings, ExecutionInput, ModuleLogger, Usage } from "#sdk";
import type { IvmConfig } from "./config.ts";
import type { DoneParams } from "./control.ts";
import type { Slot, SlotRun } from "./slot.ts";

/** A single entry into an isolate takes at most this much longer than the run may: the deadline here comes first. */
const BACKSTOP_MARGIN_MS = 5_000;
/** A single entry into the isolate of a run without a time limit. */
const MAX_ENTRY_MS = 24 * 3600 * 1000;
const BYTES_PER_MB = 1024 * 1024;

export interface SlotRunInput {
  slot: Slot;
  script: { code: string; mappings: string };
  input: ExecutionInput;
  config: IvmConfig;
  bindings: EnvironmentBindings;
  monitor: Monitor;
  wall: Wall;
  logger: ModuleLogger;
  /** Aborting it is a kill by a user. */
  signal: AbortSignal;
  pausable: PausableRun;
}

export interface Finished extends Verdict {
  usage: Pick<Usage, "wallMs" | "cpuMs" | "peakMemoryBytes" | "toolCalls">;
  /** The slot was gone before it could take the script. */
  wasNeverStarted: boolean;
  hostError?: unknown;
}

/** Runs one script to its end on an idle slot. The slot is idle again, or dead, some time later by itself. Never rejects. */
export async function runOnSlot(run: SlotRunInput): Promise<Finished> {
  const { slot, config } = run;
  const options = run.input.options ?? { timeoutMs: null };
  const memoryMb = Math.min(options.memoryMb ?? config.memoryMb, config.maxMemoryMb);
  const limits: RunLimits = { timeoutMs: options.timeoutMs, cpuMs: options.cpuMs ?? null, memoryMb };
  const backstopMs = Math.min((limits.timeoutMs ?? MAX_ENTRY_MS) + BACKSTOP_MARGIN_MS, MAX_ENTRY_MS);
  const slotRun = slot.begin({ memoryMb, backstopMs });
  try {
    if (limits.cpuMs !== null) limitCpu(run, limits.cpuMs);
    const outcome = await supervise(run, slotRun, limits);
    const done = await slotRun.finish();
    // A slot whose isolate was stopped by force may not be sound any more.
    if (done !== null && done.cause !== null) slot.kill();
    if (limits.cpuMs !== null && slot.state !== "dead") limitCpu(run, null);
    return conclude(outcome, done, limits);
  } finally {
    slotRun.release();
  }
}

function supervise(run: SlotRunInput, slotRun: SlotRun, limits: RunLimits): Promise<RunOutcome> {
  const { script, input, config, bindings } = run;
  const { eid, options = { timeoutMs: null } } = input;
  const sessionLimits = toSessionLimits(config, options);
  return superviseRun({
    child: slotRun.child,
    monitor: run.monitor,
    start: toStartParams(input, script, sessionLimits, run.pausable.repeat),
    calls: createHostCalls(bindings, eid),
    events: {
      stdout: (data) => bindings.emitStdout(eid, data),
      stderr: (data) => bindings.emitStderr(eid, data),
      output: (value) => bindings.emitOutput(eid, value),
    },
    sessionLimits,
    limits,
    killSignal: run.signal,
    afterEnd: "keep",
    ...run.pausable.supervised,
  });
}

function conclude(outcome: RunOutcome, done: DoneParams | null, limits: RunLimits): Finished {
  const verdict = combine(outcome, done, limits.memoryMb, limits.timeoutMs);
  return {
    ...verdict,
    usage: {
      wallMs: outcome.wallMs,
      cpuMs: done?.cpuMs ?? outcome.cpuMs,
      peakMemoryBytes: measurePeak(verdict, outcome, done, limits.memoryMb),
      toolCalls: outcome.toolCalls,
    },
    wasNeverStarted: outcome.wasNeverStarted,
    ...("hostError" in outcome && { hostError: outcome.hostError }),
  };
}

/** The host's verdict, unless only the slot can know: that the isolate was stopped. */
function combine(
  outcome: RunOutcome,
  done: DoneParams | null,
  memoryMb: number,
  timeoutMs: number | null,
): Verdict {
  const { state, reason, error, result } = outcome;
  if (reason === "crashed" && done?.cause === "memory_limit")
    return judge({ kind: "memory_limit", limitMb: memoryMb });
  if (reason === "crashed" && done?.cause === "timeout") {
    return judge({ kind: "timeout", limitMs: timeoutMs ?? MAX_ENTRY_MS });
  }
  return { state, reason, ...(error !== undefined && { error }), ...(result !== undefined && { result }) };
}

/** Of the isolate, as the slot measured it at the end; a run that was stopped for its memory had at least its limit. */
function measurePeak(
  verdict: Verdict,
  outcome: RunOutcome,
  done: DoneParams | null,
  memoryMb: number,
): number {
  const measured = done?.peakMemoryBytes ?? outcome.peakMemoryBytes;
  return verdict.reason === "memory_limit" ? Math.max(measured, memoryMb * BYTES_PER_MB) : measured;
}

/**
 * The kernel's limit for what may be a slot that no longer obeys; null lifts it before the slot is let go, so that no later
 * run ends for it. A slot that cannot be limited is ended; the run then goes to another one.
 */
function limitCpu({ wall, slot, logger }: SlotRunInput, cpuMs: number | null): void {
  try {
    wall.limitCpu(slot.pid, cpuMs, "until the next");
  } catch (error) {
    logger.warn({ err: error }, "The CPU time of a slot could not be limited; it is ended.");
    slot.kill();
  }
}
