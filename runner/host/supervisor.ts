/**
 * One run on one child: starts its session, clock and watch, and ends it on the first cause. Stops a child only by
 * SIGKILL. Knows no pool and no binding.
 */

import type { Child } from "../pool/spawn.ts";
import { type Exceeded, MAX_THREADS, type Monitor, toWatchBudget } from "../process/monitor.ts";
import type { SessionLimits, StartParams } from "../wire/protocol.ts";
import type { CallHandlers } from "./calls/calls.ts";
import type { LoggedCall } from "./calls/saved-answers.ts";
import { startRunClock } from "./deadline.ts";
import { type EndCause, judge, type Verdict } from "./outcome.ts";
import { type Frozen, Session, type SessionEnd, type SessionEvents, type Warned } from "./session.ts";

/** Time from a child's kill to the end of its output. */
const MAX_DRAIN_MS = 1_000;
/** Time for a child to exit after it closed its output. */
const MAX_EXIT_WAIT_MS = 500;
/**
 * After `end`, a child waits in a blocking read for its kill, and nothing it writes is read. Ending a process takes a
 * core some milliseconds, so the reply to the caller goes first.
 */
const AFTER_END_MS = 10;
/** A child killed from outside this soon may not have received its run. */
const MAX_HAND_OVER_MS = 100;
export interface RunLimits {
  /** Limit for running time from `start`. Null is no limit. */
  timeoutMs: number | null;
  /** Limit for CPU time. Null is no limit. */
  cpuMs: number | null;
  memoryMb: number;
}

export type RunChild = Pick<Child, "pid" | "channel" | "exited" | "engineText" | "ranOutOfMemory" | "kill">;

export interface RunOnChild {
  /** A child that is ready and has no listener. */
  child: RunChild;
  monitor: Monitor;
  start: StartParams;
  packages?: readonly (readonly Buffer[])[] | undefined;
  openCalls(): CallHandlers;
  events: SessionEvents;
  sessionLimits: SessionLimits;
  limits: RunLimits;
  killSignal: AbortSignal;
  /** `keep` spares a child that sent `end`. In every other case it is killed. */
  afterEnd: "kill" | "keep";
  /** The run that this one replays: its calls and the running time it used, which counts for this run too. */
  replayed?: { calls: readonly LoggedCall[]; usedMs: number } | null;
  restoreAnswer?: ((seq: number) => Promise<void>) | undefined;
}

export interface RunOutcome extends Verdict {
  /** `performance.now()` when the script was sent to the child. */
  startedAt: number;
  wallMs: number;
  cpuMs: number;
  peakMemoryBytes: number;
  toolCalls: number;
  warned: Warned;
  /**
   * True if the child may not have received the script: it had sent nothing and was gone, or was killed from outside
   * right after. It is then safe to run the script on another child.
   */
  wasNeverStarted: boolean;
  /** Only for the log, never for a script or a client. */
  hostError?: unknown;
}

/** A run in progress. Its clock stops while it is paused. */
export interface SupervisedRun {
  /** Never rejects. Unless it is kept, the child has been killed by then or will be within AFTER_END_MS. */
  readonly outcome: Promise<RunOutcome>;
  /** Resolves once the script is frozen, with null if it cannot be replayed. Rejects if the run ends first. */
  pause(): Promise<(Frozen & { usedMs: number }) | null>;
  resume(): void;
}

export function superviseRun(run: RunOnChild): SupervisedRun {
  const { child, limits, killSignal } = run;
  const startedAt = performance.now();
  const stop = new AbortController();
  let cause: EndCause | null = null;
  let usage = { cpuMs: 0, peakMemoryBytes: 0 };
  let drainTimer: NodeJS.Timeout | undefined;

  /** Ends the run. The first cause wins. Remaining output of the session is still read. */
  function endBy(next: EndCause): void {
    if (cause !== null) return;
    cause = next;
    usage = watch.finish();
    stop.abort(cause.kind);
    child.kill();
    drainTimer = setTimeout(() => child.channel.close(), MAX_DRAIN_MS);
  }

  const onKill = () => endBy({ kind: "killed" });
  const onDeadline = () =>
    void session
      .describeWaiting()
      .then((waitsFor) => endBy({ kind: "timeout", limitMs: limits.timeoutMs ?? 0, waitsFor }));
  const watch = run.monitor.watch(
    child.pid,
    { cpuMs: limits.cpuMs, memoryBytes: toWatchBudget(limits.memoryMb) },
    (exceeded) => endBy(toCause(exceeded, limits)),
  );
  const replayedMs = run.start.journal === undefined ? null : (run.replayed?.usedMs ?? 0);
  const clock = startRunClock(limits.timeoutMs, replayedMs, onDeadline);
  killSignal.addEventListener("abort", onKill, { once: true });
  if (killSignal.aborted) onKill();

  const session = new Session({
    channel: child.channel,
    start: run.start,
    packages: run.packages,
    openCalls: run.openCalls,
    events: run.events,
    limits: run.sessionLimits,
    signal: stop.signal,
    replayed: run.replayed?.calls,
    restoreAnswer: run.restoreAnswer,
    onLive: clock.catchUp,
  });

  async function conclude(): Promise<RunOutcome> {
    const end = await session.end;
    clearTimeout(drainTimer);
    const wallMs = performance.now() - startedAt;
    cause ??= end.kind === "end" ? { ...end, memoryMb: limits.memoryMb } : await explain(end, run);
    usage = watch.finish();
    clock[Symbol.dispose]();
    killSignal.removeEventListener("abort", onKill);
    if (cause.kind !== "end") endChild(child);
    else if (run.afterEnd === "kill") setTimeout(endChild, AFTER_END_MS, child);
    return {
      ...judge(cause),
      startedAt,
      wallMs,
      ...usage,
      toolCalls: end.toolCalls,
      warned: end.warned,
      wasNeverStarted: end.kind === "closed" && !end.hasReceived && wasGone(cause, child, limits, wallMs),
      ...(cause.kind === "host_error" && { hostError: cause.error }),
    };
  }

  return {
    outcome: conclude(),
    async pause() {
      const frozen = await session.pause();
      const usedMs = clock.pause();
      return frozen && { ...frozen, usedMs };
    },
    resume() {
      if (clock.resume()) session.resume();
    },
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

function endChild(child: RunChild): void {
  child.kill();
  child.channel.close();
}

/** Returns whether a child that sent nothing was ended from outside before or just after it received its run. */
function wasGone(cause: EndCause, child: RunChild, limits: RunLimits, wallMs: number): boolean {
  if (child.channel.hasWriteFailed) return true;
  if (cause.kind !== "exit" || cause.ranOutOfMemory || wallMs >= MAX_HAND_OVER_MS) return false;
  // Without a CPU limit, the signal comes from the limit of an earlier run in a process that serves several.
  return cause.exit.signal === "SIGKILL" || (cause.exit.signal === "SIGXCPU" && limits.cpuMs === null);
}

async function explain(
  end: Exclude<SessionEnd, { kind: "end" }>,
  { child, limits }: RunOnChild,
): Promise<EndCause> {
  if (end.kind === "aborted") return { kind: "killed" };
  if (end.kind !== "closed") return end;
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

/** Resolves with null if the child does not exit in time. */
async function waitForExit(child: RunChild): Promise<Child["exit"]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), MAX_EXIT_WAIT_MS);
  });
  const exit = await Promise.race([child.exited, late]);
  clearTimeout(timer);
  return exit;
}
