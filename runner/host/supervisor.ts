/**
 * One run on one child: starts its session, its clock and its watch, and ends it by whatever comes first. The only way
 * it stops a child is SIGKILL. Knows no pool and no binding.
 */

import { toWatchBudget } from "../process/memory-budget.ts";
import { type Exceeded, MAX_THREADS, type Monitor } from "../process/monitor.ts";
import type { Child } from "../process/spawn.ts";
import type { Journal, SessionLimits, StartParams } from "../wire/protocol.ts";
import type { CallLog } from "./call-log.ts";
import { startDeadline } from "./deadline.ts";
import { type EndCause, judge, type Verdict } from "./outcome.ts";
import {
  type CallHandlers,
  runSession,
  type SessionEnd,
  type SessionEvents,
  type SessionPause,
} from "./session.ts";

/** From the kill of a child until its last output must have been read. */
const MAX_DRAIN_MS = 1_000;
/** A child that has closed its output has this long to be gone as well. */
const MAX_EXIT_WAIT_MS = 500;
/**
 * A child that has ended its run by the protocol waits for its kill in a blocking read, with nobody listening to it.
 * Taking a process down costs a core some milliseconds; the answer to whoever waits for the run goes first.
 */
const AFTER_END_MS = 10;
/** A child killed by somebody else this soon after it was given its run may not have taken it yet. */
const MAX_HAND_OVER_MS = 100;
/** How much longer than the first time doing everything again may take, beyond twice as long. */
const REPETITION_MARGIN_MS = 10_000;

export interface RunLimits {
  /** Of running time, from `start`; null is none. */
  timeoutMs: number | null;
  /** Of CPU time; null is none. */
  cpuMs: number | null;
  memoryMb: number;
}

/** Freezes a run and lets it go on; its clock stands still in between. */
export interface RunPause {
  /** Answers once the script is frozen; `journal` is null for a run that cannot be repeated. Rejects when it ends before. */
  pause(): Promise<{ journal: Journal | null; usedMs: number }>;
  resume(): void;
}

export interface SupervisedRun {
  /** A child that is ready and has no listener. */
  child: Child;
  monitor: Monitor;
  start: StartParams;
  calls: CallHandlers;
  events: SessionEvents;
  sessionLimits: SessionLimits;
  limits: RunLimits;
  /** Aborting it is a kill by a user. */
  killSignal: AbortSignal;
  /** `keep`: a child that ended its run by the protocol lives on. It is killed in every other case. */
  afterEnd: "kill" | "keep";
  /** What the run asks and is told; for a repeated run, with what it asked before. */
  log?: CallLog;
  /** Running time of the run that is repeated, which this one is taken to have used already. */
  usedMs?: number;
  /** Given the means to pause the run once it has started. */
  onStart?: (pause: RunPause) => void;
}

export interface RunOutcome extends Verdict {
  /** `performance.now()` when the child was given the script. */
  startedAt: number;
  wallMs: number;
  cpuMs: number;
  peakMemoryBytes: number;
  toolCalls: number;
  /**
   * Nobody can tell that the script was given to this child: it was gone already, or somebody else killed it right
   * after, and nothing had come from it. Running it again repeats nothing.
   */
  wasNeverStarted: boolean;
  /** For the log; never for a script or a client. */
  hostError?: unknown;
}

/** Runs one script to its end. Never rejects. Unless it is kept, the child has been killed by then, or is about to be. */
export async function superviseRun(run: SupervisedRun): Promise<RunOutcome> {
  const { child, limits } = run;
  const startedAt = performance.now();
  const stop = new AbortController();
  let cause: EndCause | null = null;

  /** The first cause wins; it also ends the session, whose output is then read to its end. */
  function endBy(next: EndCause): void {
    if (cause !== null) return;
    cause = next;
    usage = watch.finish();
    stop.abort(cause.kind);
    child.kill();
  }

  const onKill = () => endBy({ kind: "killed" });
  let usage = { cpuMs: 0, peakMemoryBytes: 0 };
  const memoryBytes = toWatchBudget(limits.memoryMb);
  const watch = run.monitor.watch(child.pid, { cpuMs: limits.cpuMs, memoryBytes }, (exceeded) =>
    endBy(toCause(exceeded, limits)),
  );
  const onDeadline = () => endBy({ kind: "timeout", limitMs: limits.timeoutMs ?? 0 });
  const { usedMs = 0 } = run;
  const leftMs = limits.timeoutMs === null ? null : Math.max(1, limits.timeoutMs - usedMs);
  using clock = startDeadline(leftMs, onDeadline);
  // Doing again what was done before costs no time of the run's own, and must not take for ever.
  using repetition = startDeadline(run.start.journal ? usedMs * 2 + REPETITION_MARGIN_MS : null, onDeadline);
  if (run.start.journal) clock.pause();
  /** Since when the script does what it has not done before. */
  let ownSince = startedAt;
  let pausedMs = 0;
  let frozenAt: number | null = null;
  run.killSignal.addEventListener("abort", onKill, { once: true });
  if (run.killSignal.aborted) onKill();

  const session = runSession({
    channel: child.channel,
    start: run.start,
    calls: run.calls,
    events: run.events,
    limits: run.sessionLimits,
    signal: stop.signal,
    ...(run.log !== undefined && { log: run.log }),
    onStart: (session) => run.onStart?.(withClock(session)),
    onLive() {
      repetition[Symbol.dispose]();
      ownSince = performance.now();
      clock.resume();
    },
  });

  function withClock(session: SessionPause): RunPause {
    return {
      async pause() {
        const journal = await session.pause();
        frozenAt = performance.now();
        clock.pause();
        return { journal, usedMs: usedMs + frozenAt - ownSince - pausedMs };
      },
      resume() {
        if (frozenAt === null) return;
        pausedMs += performance.now() - frozenAt;
        frozenAt = null;
        clock.resume();
        session.resume();
      },
    };
  }
  const end = await drainAfter(stop.signal, child, session);
  const wallMs = performance.now() - startedAt;
  cause ??= await explain(end, run);
  usage = watch.finish();
  run.killSignal.removeEventListener("abort", onKill);
  if (cause.kind !== "end") endChild(child);
  else if (run.afterEnd === "kill") setTimeout(endChild, AFTER_END_MS, child);
  return {
    ...judge(cause),
    startedAt,
    wallMs,
    ...usage,
    toolCalls: end.toolCalls,
    wasNeverStarted: end.kind === "closed" && !end.hasReceived && wasGone(cause, child, limits, wallMs),
    ...(cause.kind === "host_error" && { hostError: cause.error }),
  };
}

function toCause(exceeded: Exceeded, { cpuMs, memoryMb }: RunLimits): EndCause {
  switch (exceeded) {
    case "cpu":
      return { kind: "cpu_limit", limitMs: cpuMs };
    case "memory":
      return { kind: "memory_limit", limitMb: memoryMb };
    case "threads": {
      const message = `its process has more than ${MAX_THREADS} threads`;
      return { kind: "violation", reason: "sandbox_violation", message };
    }
  }
}

function endChild(child: Child): void {
  child.kill();
  child.channel.close();
}

/** Whether a child that never said anything was ended by somebody else before, or about when, it was given its run. */
function wasGone(cause: EndCause, child: Child, limits: RunLimits, wallMs: number): boolean {
  if (child.channel.hasWriteFailed) return true;
  if (cause.kind !== "exit" || cause.ranOutOfMemory || wallMs >= MAX_HAND_OVER_MS) return false;
  // A run without a limit of CPU time cannot have met one: that was an earlier run's, on a process that serves several.
  return cause.exit.signal === "SIGKILL" || (cause.exit.signal === "SIGXCPU" && limits.cpuMs === null);
}

/** The end of the session; once it was stopped from outside, the channel closes within a bounded time. */
async function drainAfter(
  signal: AbortSignal,
  child: Child,
  session: Promise<SessionEnd>,
): Promise<SessionEnd> {
  let timer: NodeJS.Timeout | undefined;
  const bound = () => {
    timer = setTimeout(() => child.channel.close(), MAX_DRAIN_MS);
  };
  if (signal.aborted) bound();
  else signal.addEventListener("abort", bound, { once: true });
  const end = await session;
  clearTimeout(timer);
  signal.removeEventListener("abort", bound);
  return end;
}

/** What a session's end means for the run. */
async function explain(end: SessionEnd, { child, limits }: SupervisedRun): Promise<EndCause> {
  switch (end.kind) {
    case "end":
      return { kind: "end", end: end.end, memoryMb: limits.memoryMb };
    case "diverged":
      return { kind: "diverged", what: end.what };
    case "violation":
      return { kind: "violation", reason: end.reason, message: end.message };
    case "host_error":
      return { kind: "host_error", error: end.error };
    case "aborted":
      return { kind: "killed" };
    case "closed": {
      const exit = (await waitForExit(child)) ?? { code: null, signal: null };
      return {
        kind: "exit",
        exit,
        engineText: await child.engineText(),
        ranOutOfMemory: exit.signal === "SIGKILL" && (await child.ranOutOfMemory()),
        memoryMb: limits.memoryMb,
        cpuMs: limits.cpuMs,
      };
    }
  }
}

/** The exit of a child that has closed its output; null if it lives on without it, which it has no reason to. */
async function waitForExit(child: Child): Promise<Child["exit"]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), MAX_EXIT_WAIT_MS);
  });
  const exit = await Promise.race([child.exited, late]);
  clearTimeout(timer);
  return exit;
}
