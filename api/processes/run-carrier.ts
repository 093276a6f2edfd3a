/**
 * Every run from its start in an environment to its stored ending, or to the moment its child leaves it to a later one.
 * Counts nothing: the dispatcher is told.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { ExecutionInput } from "#sdk";
import type { DispatcherOptions } from "./admission/dispatcher.ts";
import type { Slot } from "./admission/slots.ts";
import type { EnvironmentAnswer } from "./live/ending.ts";
import { RunExecution } from "./live/execution.ts";
import { LiveRun } from "./live/run.ts";
import { memoryInForce } from "./model/limits.ts";
import type { Claim, RunLimits, StoredRun } from "./model/records.ts";
import { INTERRUPTED } from "./model/records.ts";
import type { RunPauses } from "./pausing/run-pauses.ts";

/** How long an environment may take to confirm a kill before the process ends without it. */
export const KILL_GRACE_MS = 10_000;
export const SHUTDOWN_KILL_GRACE_MS = 3000;
const MIN_PARKED_RUNS = 8;
const NOBODY_TO_ASK = "The run waited for a person, and this server has no approvals.";

/** What a run holds of the counts. */
interface Place {
  slot: Slot;
  /** Counted by admission: a paused run is not. */
  isAdmitted: boolean;
}

export interface RunCarrierHooks {
  /** A place may be free. */
  claim(): void;
  /** A run counts for admission, or does not any more. */
  admitted(change: 1 | -1): void;
  ended(): void;
}

export class RunCarrier {
  readonly #options: DispatcherOptions;
  readonly #hooks: RunCarrierHooks;
  /** Runs that their child is about to let go of: none of the same process may begin before. */
  readonly #leaving = new Map<number, PromiseWithResolvers<void>>();
  /** Claims that wait for that, by process id. */
  readonly #claimed = new Map<number, string>();
  #isDraining = false;
  #isInterrupting = false;

  constructor(options: DispatcherOptions, hooks: RunCarrierHooks) {
    this.#options = options;
    this.#hooks = hooks;
  }

  /** Whether what was claimed with this token runs here, or is about to. */
  holds({ id, claim }: Claim): boolean {
    return this.#options.registry.get(id)?.claim === claim || this.#claimed.get(id) === claim;
  }

  get isEmpty(): boolean {
    return this.#options.registry.size === 0 && this.#leaving.size === 0;
  }

  /** A run that was claimed begins, as soon as an earlier child of it has gone. */
  start(slot: Slot, stored: StoredRun): void {
    const { id, claim } = stored.row;
    this.#giveUpEarlier(id);
    const leaving = this.#leaving.get(id);
    if (leaving === undefined) {
      this.#place(slot, stored);
      return;
    }
    this.#claimed.set(id, claim as string);
    void leaving.promise.then(() => {
      this.#claimed.delete(id);
      this.#place(slot, stored);
    });
  }

  /** Another claim of the process was given to this server: what still runs here of it is not its own any more. */
  #giveUpEarlier(id: number): void {
    const { registry } = this.#options;
    const earlier = registry.held(id);
    if (earlier === undefined) return;
    earlier.pauses?.close();
    // Its child has gone, and only its ending is still to be stored, which the database will refuse.
    if (earlier.live.isOver) registry.remove(earlier.live);
    else this.#letGo(earlier.live, earlier.execution);
  }

  /** Runs that pause from now on give up their child at once. */
  startLeaving(): void {
    this.#isDraining = true;
    for (const { pauses } of this.#options.registry.all()) pauses?.leave();
  }

  /** Ends every run, and every one that begins from now on, as interrupted; what can be repeated is left to be. */
  interruptAll(): void {
    this.#isInterrupting = true;
    for (const { live, execution, pauses } of this.#options.registry.all())
      interrupt(live, execution, pauses);
  }

  #place(slot: Slot, { row, code }: StoredRun): void {
    const { registry, feed, limits, environments, log, redactor, pausing } = this.#options;
    const { lease } = slot;
    const execution = new RunExecution(row.id, lease.module, log);
    const active = environments.active();
    const live = new LiveRun({
      row,
      claim: row.claim as string,
      environment: lease.id,
      code,
      memoryMb: memoryInForce(row.memoryMb, active?.module === lease.module ? active.status() : null),
      limits,
      redactor,
      onChange: (change) => feed.notify(row.id, change),
      onDecided: ({ exitState }) => {
        if (exitState === "timeout") {
          const details = { processId: row.id, environment: lease.id, timeoutMs: row.timeoutMs };
          log.error(details, "the environment did not end a run in its time; the server asks it to");
        }
        execution.requestEnd(KILL_GRACE_MS);
      },
    });
    const place: Place = { slot, isAdmitted: true };
    const pauses =
      pausing?.open(live, lease.module, {
        parked: () => {
          slot.giveUp();
          this.#setAdmitted(place, false);
          this.#hooks.claim();
          this.#keepFewParked();
        },
        goesOn: () => {
          slot.takeBack();
          this.#setAdmitted(place, true);
        },
        left: () => this.#letGo(live, execution),
      }) ?? null;
    registry.add(live, execution, pauses);
    this.#options.onStarted?.(row, lease.id);
    if (this.#isDraining) pauses?.leave();
    if (this.#isInterrupting) interrupt(live, execution, pauses);
    feed.notify(row.id, "state");
    void this.#carryOut(live, execution, pauses, place);
  }

  #setAdmitted(place: Place, isAdmitted: boolean): void {
    if (place.isAdmitted === isAdmitted) return;
    place.isAdmitted = isAdmitted;
    this.#hooks.admitted(isAdmitted ? 1 : -1);
  }

  /** The child of a paused run ends, the run does not. */
  #letGo(live: LiveRun, execution: RunExecution): void {
    this.#leaving.set(live.id, Promise.withResolvers());
    this.#options.registry.remove(live);
    live.markLeft();
    execution.requestEnd(KILL_GRACE_MS);
  }

  /** Each holds a child and its memory: beyond as many as there are slots, those go first that wait longest. */
  #keepFewParked(): void {
    const { registry, environments } = this.#options;
    const max = Math.max(MIN_PARKED_RUNS, environments.active()?.status()?.slots ?? 0);
    const parked = registry.all().filter(({ pauses }) => pauses?.phase === "parked");
    for (const { pauses } of parked.slice(0, Math.max(0, parked.length - max))) pauses?.giveUpHold();
  }

  async #carryOut(
    live: LiveRun,
    execution: RunExecution,
    pauses: RunPauses | null,
    place: Place,
  ): Promise<void> {
    const { registry, writer } = this.#options;
    const answer = await registry.executing.run({ id: live.id, rights: live.rights }, () =>
      live.row.asked
        ? this.#repeat(live, execution, pauses)
        : execution.carryOut(describeExecution(live, this.#options.limits)),
    );
    if (answer.kind === "unread") return this.#giveBack(live, pauses, place);
    if (live.isLeft) return this.#finishLeaving(live, execution, place);
    if (answer.kind === "unconfirmed") registry.holdUntil(live.id, execution.confirmed);
    if (answer.kind === "returned" && answer.value === "success") pauses?.checkAllRepeated();
    const ending = live.conclude(answer);
    pauses?.close();
    place.slot.release();
    this.#options.onEnded?.(ending, live.environment);
    this.#hooks.claim();
    const row = await writer.store(ending);
    registry.remove(live);
    this.#setAdmitted(place, false);
    live.markStored(row);
    this.#hooks.ended();
  }

  /** A later child of a run that was left by an earlier one. `unread`: the database did not say what to repeat. */
  async #repeat(
    live: LiveRun,
    execution: RunExecution,
    pauses: RunPauses | null,
  ): Promise<EnvironmentAnswer | { kind: "unread" }> {
    const { pausing, limits } = this.#options;
    const carried =
      pausing === null || pauses === null
        ? ({ name: "InterruptedError", message: NOBODY_TO_ASK, reason: "interrupted" } as const)
        : await pausing.carry(live, pauses);
    if (carried === "unread") {
      const wasEnded = live.signal.aborted && !live.isLeft;
      return wasEnded ? { kind: "returned", value: "failed" } : { kind: "unread" };
    }
    if ("reason" in carried) {
      live.setError(carried);
      return { kind: "returned", value: "failed" };
    }
    return execution.carryOut({ ...describeExecution(live, limits), checkpoint: carried.checkpoint });
  }

  /** Nothing of it has begun here: its claim is held no more, so it is queued again when the database answers. */
  #giveBack(live: LiveRun, pauses: RunPauses | null, place: Place): void {
    pauses?.close();
    live.markLeft();
    this.#leave(live, place);
  }

  async #finishLeaving(live: LiveRun, execution: RunExecution, place: Place): Promise<void> {
    await Promise.race([execution.confirmed, sleep(KILL_GRACE_MS, undefined, { ref: false })]);
    this.#leave(live, place);
  }

  #leave(live: LiveRun, place: Place): void {
    const { registry, feed } = this.#options;
    place.slot.release();
    registry.remove(live);
    this.#setAdmitted(place, false);
    this.#leaving.get(live.id)?.resolve();
    this.#leaving.delete(live.id);
    this.#options.onLeft?.(live.id);
    feed.notify(live.id, "state");
    this.#hooks.claim();
    this.#hooks.ended();
  }
}

/** What can be repeated is left to the next server. */
function interrupt(live: LiveRun, execution: RunExecution, pauses: RunPauses | null): void {
  if (live.state !== "terminating" && pauses?.abandon()) live.markLeft();
  else if (live.state !== "terminating") live.decide(INTERRUPTED);
  execution.requestEnd(SHUTDOWN_KILL_GRACE_MS);
}

function describeExecution(live: LiveRun, limits: RunLimits): ExecutionInput {
  const { timeoutMs, cpuMs, ref } = live.row;
  const { maxStdoutBytes, maxStderrBytes } = limits;
  return {
    eid: live.id,
    code: live.code,
    options: {
      timeoutMs,
      maxStdoutBytes,
      maxStderrBytes,
      ...(live.memoryMb === null ? {} : { memoryMb: live.memoryMb }),
      ...(cpuMs === null ? {} : { cpuMs }),
    },
    ...(ref === null ? {} : { ref }),
  };
}
