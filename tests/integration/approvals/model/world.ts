/**
 * One process that asks people, with everything that can happen to it: the real controller of its pauses, the real
 * record of its calls, a small child that can be frozen and repeated, and a database that is either the real one or
 * tables in memory. Nothing happens by itself: a schedule picks what is next, at every step.
 */

import { askApprover } from "#api/processes/calls/ask.ts";
import { RunCall } from "#api/processes/calls/call.ts";
import { PendingApprovals } from "#api/processes/live/approvals.ts";
import { CallLog } from "#api/processes/live/calls.ts";
import { RunResults } from "#api/processes/live/results.ts";
import type { RestoredRun } from "#api/processes/model/calls.ts";
import type { ApprovalState } from "#api/processes/model/states.ts";
import type { ApprovalStore } from "#api/processes/pausing/approvals.ts";
import { PauseController } from "#api/processes/pausing/controller.ts";
import type { PauseStore } from "#api/processes/pausing/transactions.ts";
import { createRedactor } from "#api/secrets/redactor.ts";
import type { ToolCall, ToolCalls } from "#api/tools/contract.ts";

export interface SimpleOperation {
  kind: "safe" | "risky" | "ask";
  /** True if an approver decides; always true for `ask`. */
  asks: boolean;
}
export type Operation = SimpleOperation | { kind: "together"; operations: SimpleOperation[] };

/** The database, as far as a process and its pauses are concerned. Each function is one transaction. */
export interface Tables {
  approvalStore: ApprovalStore;
  create(): Promise<number>;
  /** The process, when it was queued. */
  claim(): Promise<{ claim: string; asked: boolean } | null>;
  records(name: { id: number; claim: string; run: string }): PauseStore;
  carry(id: number, claim: string): Promise<RestoredRun | string>;
  finish(id: number, claim: string, exitState: string): Promise<boolean>;
  terminate(id: number, claim: string): Promise<boolean>;
  /** Applies to a run that no child holds. */
  cancel(id: number): Promise<boolean>;
  /** Null when it was decided before. */
  decide(approval: string, state: Exclude<ApprovalState, "pending">): Promise<{ isQueued: boolean } | null>;
  /** Steps of a starting server. */
  recover(): Promise<void>;
  read(id: number): Promise<{
    state: string;
    exitState: string | null;
    pending: string[];
    states: [number, ApprovalState][];
  }>;
}

interface Logged {
  seq: number;
  digest: string;
  reply: string | null;
}

interface Step {
  label: string;
  go(): void;
}

interface Live {
  claim: string;
  child: Child;
  calls: CallLog;
  approvals: PendingApprovals;
  pauses: PauseController;
  over: AbortController;
  isLeft: boolean;
  isKilled: boolean;
  hasFailed: boolean;
}

const NO_LIMITS = {
  maxStdoutBytes: 0,
  maxStderrBytes: 0,
  maxOutputBytes: 0,
  maxResultBytes: 0,
  maxWorkspaceBytes: 0,
};
const NO_USAGE = { queuedMs: 0, startMs: 0, wallMs: 0, cpuMs: 0, peakMemoryBytes: 0, toolCalls: 0 };
const MAX_STEPS = 2000;
const MAX_CRASHES = 3;

export class World {
  readonly executed = new Map<string, number>();
  readonly decisions = new Map<string, number>();
  readonly trace: string[] = [];
  crashes = 0;
  readonly #tables: Tables;
  readonly #script: readonly Operation[];
  readonly #parts: Parameters<typeof askApprover>[0];
  #steps: Step[] = [];
  #epoch = 0;
  #busy = 0;
  #live: Live | null = null;
  /** Children that are on their way out. */
  #leaving = 0;
  #id = 0;

  constructor(tables: Tables, script: readonly Operation[]) {
    this.#tables = tables;
    this.#script = script;
    this.#parts = {
      approvalStore: tables.approvalStore,
      redactor: { text: (text: string) => text },
      checkSchema: async () => null,
    };
  }

  /** Plays the schedule, then everything that is left to do. Each number picks one of what can happen next. */
  async play(schedule: readonly number[]): Promise<void> {
    this.#id = await this.#tables.create();
    for (const pick of schedule) {
      const steps = await this.#listSteps();
      const fate = await this.#listFate();
      const people = await this.#listPeople();
      // Mostly steps; now and then a decision; seldom an end, so that there is something to come between.
      const order =
        pick % 24 === 0 ? [fate, people, steps] : pick % 4 === 1 ? [people, steps] : [steps, people];
      const choices = order.find((some) => some.length > 0);
      if (choices === undefined) break;
      await this.#take(choices[Math.floor(pick / 24) % choices.length] as Step);
    }
    await this.#settle();
  }

  /** Lets whatever still waits for a person go on, until the process has ended. */
  async finish(): Promise<void> {
    for (let round = 0; round < 50; round += 1) {
      await this.#settle();
      const { state, pending } = await this.#tables.read(this.#id);
      if (state === "idle") return;
      const [approval] = pending;
      if (approval === undefined) return;
      await this.#take(this.#decide(approval, "approved"));
    }
  }

  read() {
    return this.#tables.read(this.#id);
  }

  async #settle(): Promise<void> {
    for (let count = 0; count < MAX_STEPS; count += 1) {
      const [next] = await this.#listSteps();
      if (next === undefined) return;
      await this.#take(next);
    }
    throw new Error(`it never comes to rest: ${this.trace.slice(-40).join(", ")}`);
  }

  /** Next steps of the server, in any order. */
  async #listSteps(): Promise<Step[]> {
    const { state } = await this.#tables.read(this.#id);
    const isFree = state === "queued" && this.#live === null && this.#leaving === 0;
    return [...this.#steps, ...(isFree ? [{ label: "claim", go: () => void this.#start() }] : [])];
  }

  /** Steps of approvers, and time. */
  async #listPeople(): Promise<Step[]> {
    const { pending } = await this.#tables.read(this.#id);
    const live = this.#live;
    return [
      ...pending.flatMap((approval) =>
        (["approved", "denied", "expired"] as const).map((to) => this.#decide(approval, to)),
      ),
      ...(live?.pauses.phase === "paused" ? [{ label: "hold passes", go: () => live.pauses.endHold() }] : []),
    ];
  }

  async #listFate(): Promise<Step[]> {
    const { state } = await this.#tables.read(this.#id);
    if (state === "idle") return [];
    const kill = { label: "kill", go: () => void this.#kill() };
    const crash = { label: "crash", go: () => void this.#crash() };
    return this.crashes < MAX_CRASHES ? [crash, kill, crash] : [kill];
  }

  async #take(step: Step): Promise<void> {
    this.trace.push(step.label);
    this.#steps = this.#steps.filter((other) => other !== step);
    step.go();
    // A whole turn, so that everything that follows from it has happened; and the database has answered.
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#busy > 0);
  }

  /** A point at which something else may come between. After a crash nobody ever comes back from it. */
  #step(label: string, epoch: number): Promise<void> {
    return new Promise((resolve) => {
      if (epoch === this.#epoch) this.#steps.push({ label, go: resolve });
    });
  }

  /** One transaction: it may be lost on its way, and so may its answer. */
  async #transaction<T>(label: string, epoch: number, work: () => Promise<T>): Promise<T> {
    await this.#step(label, epoch);
    this.#busy += 1;
    const answer = await work().finally(() => {
      this.#busy -= 1;
    });
    await this.#step(`${label} answered`, epoch);
    return answer;
  }

  #decide(approval: string, to: "approved" | "denied" | "expired"): Step {
    return { label: `${to} ${approval}`, go: () => void this.#settleApproval(approval, to) };
  }

  async #settleApproval(approval: string, to: "approved" | "denied" | "expired"): Promise<void> {
    const epoch = this.#epoch;
    this.#busy += 1;
    const outcome = await this.#tables.decide(approval, to).finally(() => {
      this.#busy -= 1;
    });
    if (outcome === null) return;
    this.decisions.set(approval, (this.decisions.get(approval) ?? 0) + 1);
    await this.#step(`told of ${approval}`, epoch);
    this.#live?.approvals.decide(approval, to, null);
  }

  async #kill(): Promise<void> {
    const live = this.#live;
    this.#busy += 1;
    try {
      if (live === null) {
        await this.#tables.cancel(this.#id);
        return;
      }
      if (!(await this.#tables.terminate(this.#id, live.claim))) {
        await this.#tables.cancel(this.#id);
        return;
      }
    } finally {
      this.#busy -= 1;
    }
    live.isKilled = true;
    live.over.abort();
    live.child.kill();
  }

  async #crash(): Promise<void> {
    this.crashes += 1;
    this.#epoch += 1;
    this.#steps = [];
    this.#live = null;
    this.#leaving = 0;
    this.#busy += 1;
    await this.#tables.recover().finally(() => {
      this.#busy -= 1;
    });
  }

  async #start(): Promise<void> {
    const epoch = this.#epoch;
    this.#leaving += 1;
    const claimed = await this.#transaction("claim", epoch, () => this.#tables.claim());
    this.#leaving -= 1;
    if (claimed === null) return;
    const { claim, asked } = claimed;
    const id = this.#id;
    const name = { id, claim, run: claim };
    const over = new AbortController();
    const child = new Child((label) => this.#step(label, epoch));
    const inner = this.#tables.records(name);
    const wrap =
      <A extends unknown[], T>(label: string, work: (...given: A) => Promise<T>) =>
      (...given: A): Promise<T> =>
        this.#transaction(label, epoch, () => work(...given));
    const records: PauseStore = {
      pause: wrap("pause", inner.pause),
      resume: wrap("resume", inner.resume),
      detach: wrap("detach", inner.detach),
      beginCall: wrap("begin", inner.beginCall),
      endCall: wrap("end", inner.endCall),
      useAnswer: wrap("answer", inner.useAnswer),
      hasRoom: async () => true,
      storeApprovals: inner.storeApprovals,
    };
    const calls = new CallLog(createRedactor());
    const approvals = new PendingApprovals(() => {});
    const live: Live = {
      claim,
      child,
      over,
      isLeft: false,
      isKilled: false,
      hasFailed: false,
      calls,
      approvals,
      pauses: new PauseController({
        name,
        store: records,
        run: {
          calls,
          approvals,
          usage: NO_USAGE,
          results: new RunResults(NO_LIMITS, createRedactor()),
          snapshot: () => SNAPSHOT,
          execution: { canPause: true, pause: () => child.pause(), resume: () => child.resume() },
          pause: () => {},
          resume: () => {},
          detach: () => {
            live.isLeft = true;
            this.#live = null;
            this.#leaving += 1;
            over.abort();
            child.kill();
          },
          decide: () => {
            live.hasFailed = true;
            over.abort();
            child.kill();
          },
        },
        holdMs: 2_000_000_000,
        maxApprovals: 100,
        onPaused: () => {},
        log: console,
      }),
    };
    this.#live = live;
    let exitState = "failed";
    if (asked) {
      const carried = await this.#transaction("carry", epoch, () => this.#tables.carry(id, claim));
      if (typeof carried === "string") live.hasFailed = true;
      else {
        live.approvals.restore(carried.approvals, carried.events);
        live.pauses.name.run = carried.run;
        live.pauses.journal.restore(carried);
        if (live.pauses.journal.findInterrupted()) live.hasFailed = true;
        child.log = structuredClone((carried.checkpoint as { calls: Logged[] }).calls);
      }
    }
    if (!live.hasFailed && !live.isKilled) {
      exitState = await child.run(this.#script, (operation, seq) =>
        this.#perform(live, operation, seq, epoch),
      );
    }
    if (live.isLeft) {
      await this.#step("child has gone", epoch);
      this.#leaving -= 1;
      return;
    }
    if (exitState === "success") live.pauses.journal.checkAllReplayed();
    if (live.hasFailed) exitState = "failed";
    if (live.isKilled) exitState = "canceled";
    live.pauses.close();
    over.abort();
    await this.#transaction("finish", epoch, () => this.#tables.finish(id, claim, exitState));
    if (this.#live === live) this.#live = null;
  }

  /** One request of the script, as the bindings and the path of calls treat it. */
  async #perform(live: Live, operation: SimpleOperation, seq: number, epoch: number): Promise<unknown> {
    const { over, pauses, calls } = live;
    const restoreAnswer = () => Promise.reject(new Error("nothing is saved"));
    const run = {
      id: pauses.name.id,
      calls,
      restoreAnswer,
      openPauses: () => pauses,
      findPauses: () => pauses,
    };
    if (operation.kind === "ask") {
      return askApprover(this.#parts, run, { message: "?" }, { seq, signal: over.signal });
    }
    const parameters = { seq };
    const logged = calls.begin({ seq, serviceId: "s", toolId: operation.kind, parameters });
    const call = new RunCall(this.#createTools(operation, seq, over.signal, epoch), run, logged, this.#parts);
    const given = { serviceId: "s", toolId: operation.kind, parameters, caller: { processId: run.id } };
    const cut = new Promise<never>((_, reject) => {
      over.signal.addEventListener("abort", () => reject(new Error("run_ended")), { once: true });
    });
    cut.catch(() => {});
    return Promise.race([call.make(given), cut]);
  }

  /** The tools of one call, at whose steps something else may come between. */
  #createTools({ kind, asks }: SimpleOperation, seq: number, signal: AbortSignal, epoch: number): ToolCalls {
    const destructive = kind === "risky";
    return {
      open: (call) => ({ ...call, signal }),
      plan: async (call, approved) => {
        if (approved === undefined) await this.#step(`call ${seq}`, epoch);
        const needsApproval = approved === undefined && (asks || (call as ToolCall).wasAsked === true);
        return {
          call,
          destructive,
          asked: needsApproval ? { parameters: {}, files: [], destructive } : null,
        };
      },
      perform: async () => {
        signal.throwIfAborted();
        const key = `${kind} ${seq}`;
        this.executed.set(key, (this.executed.get(key) ?? 0) + 1);
        await this.#step(`adapter of ${seq}`, epoch);
        return seq;
      },
      refuse: (_call, { failure }) => new Error(failure),
    };
  }
}

const EMPTY = Buffer.alloc(0);
const SNAPSHOT = {
  stdout: EMPTY,
  stderr: EMPTY,
  levels: null,
  truncated: { stdout: false, stderr: false },
  output: "{}",
  outputs: 0,
  calls: [],
  packages: [],
  usage: NO_USAGE,
  warnings: [],
};

/** A child whose script is a list of operations. Errors of operations are caught; nothing in it is left to chance. */
class Child {
  log: Logged[] = [];
  readonly #calls: Logged[] = [];
  readonly #step: (label: string) => Promise<void>;
  readonly #killed = Promise.withResolvers<"killed">();
  #frozen: PromiseWithResolvers<void> | null = null;
  #isKilled = false;
  #isOver = false;
  #hasDiverged = false;

  constructor(step: (label: string) => Promise<void>) {
    this.#step = step;
  }

  async run(
    script: readonly Operation[],
    perform: (operation: SimpleOperation, seq: number) => Promise<unknown>,
  ): Promise<string> {
    const playing = (async () => {
      for (const operation of script) {
        const operations = operation.kind === "together" ? operation.operations : [operation];
        await Promise.all(operations.map((one) => this.#request(one, perform)));
        if (this.#hasDiverged) return "failed";
      }
      return this.#calls.length < this.log.length ? "failed" : "success";
    })();
    const exitState = await Promise.race([playing, this.#killed.promise]);
    this.#isOver = true;
    return exitState;
  }

  async #request(
    operation: SimpleOperation,
    perform: (operation: SimpleOperation, seq: number) => Promise<unknown>,
  ): Promise<void> {
    const seq = this.#calls.length + 1;
    const call: Logged = { seq, digest: operation.kind, reply: null };
    this.#calls.push(call);
    const logged = this.log[seq - 1];
    if (logged !== undefined && logged.digest !== call.digest) this.#hasDiverged = true;
    if (logged?.reply != null) call.reply = logged.reply;
    else {
      call.reply = await perform(operation, seq).then(
        (value) => JSON.stringify(value ?? null),
        (error: Error) => error.message,
      );
    }
    while (this.#frozen) await this.#frozen.promise;
  }

  async pause(): Promise<unknown> {
    await this.#step("halt");
    if (this.#isOver || this.#isKilled) throw new Error("it has ended");
    this.#frozen ??= Promise.withResolvers();
    return structuredClone({ calls: this.#calls });
  }

  resume(): void {
    this.#frozen?.resolve();
    this.#frozen = null;
  }

  kill(): void {
    if (this.#isKilled) return;
    this.#isKilled = true;
    void this.#step("child ends").then(() => this.#killed.resolve("killed"));
  }
}
