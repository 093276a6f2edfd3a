/**
 * The environment's part of one run: `execute` from call to answer, and the bounded wait for an environment that was
 * asked to end a run and does not.
 */
import type { EnvironmentModule, ExecutionInput, ModuleLogger } from "#sdk";
import type { EnvironmentAnswer } from "./ending.ts";

/** How long an environment may take to confirm a kill before the process ends without it. */
export const KILL_GRACE_MS = 10_000;

export class RunExecution {
  /** Resolves when the environment has answered, however late; never for one that does not. */
  readonly confirmed: Promise<void>;
  readonly #eid: number;
  readonly #module: EnvironmentModule;
  readonly #log: ModuleLogger;
  readonly #resolveConfirmed: () => void;
  readonly #abandoned = Promise.withResolvers<EnvironmentAnswer>();
  #isBegun = false;
  #isAnswered = false;
  #isEndAsked = false;
  #deadline: { timer: NodeJS.Timeout; atMs: number } | null = null;

  constructor(eid: number, module: EnvironmentModule, log: ModuleLogger) {
    this.#eid = eid;
    this.#module = module;
    this.#log = log;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.confirmed = promise;
    this.#resolveConfirmed = resolve;
  }

  /** Never rejects. Resolves with `unconfirmed` when `requestEnd` was called and its time has passed. */
  async carryOut(input: ExecutionInput): Promise<EnvironmentAnswer> {
    if (this.#isEndAsked) {
      this.#resolveConfirmed();
      return { kind: "unconfirmed" };
    }
    this.#isBegun = true;
    try {
      return await Promise.race([this.#execute(input), this.#abandoned.promise]);
    } finally {
      clearTimeout(this.#deadline?.timer);
    }
  }

  /** Asks the environment to end the run and waits `graceMs` for it at most; a later call may shorten the wait. */
  requestEnd(graceMs: number): void {
    const isAskedAgain = this.#isEndAsked;
    this.#isEndAsked = true;
    // What has not begun never does.
    if (!this.#isBegun || this.#isAnswered) return;
    const atMs = performance.now() + graceMs;
    if (this.#deadline === null || atMs < this.#deadline.atMs) {
      clearTimeout(this.#deadline?.timer);
      this.#deadline = { atMs, timer: setTimeout(() => this.#abandon(), graceMs) };
    }
    if (!isAskedAgain) void this.#kill();
  }

  /** Null: the environment cannot pause. */
  get pause(): (() => Promise<unknown>) | null {
    const { pause, resume } = this.#module;
    return pause && resume ? () => pause.call(this.#module, this.#eid) : null;
  }

  resume(): void {
    this.#module.resume?.(this.#eid);
  }

  async #execute(input: ExecutionInput): Promise<EnvironmentAnswer> {
    try {
      return { kind: "returned", value: await this.#module.execute(input) };
    } catch (error) {
      this.#log.error(
        { err: error, processId: input.eid },
        "the environment failed while it was running a script",
      );
      return { kind: "threw" };
    } finally {
      this.#isAnswered = true;
      this.#resolveConfirmed();
    }
  }

  async #kill(): Promise<void> {
    try {
      await this.#module.kill(this.#eid);
    } catch (error) {
      this.#log.error({ err: error, processId: this.#eid }, "the environment failed to end a run");
    }
  }

  #abandon(): void {
    if (this.#isAnswered) return;
    this.#log.error(
      { processId: this.#eid },
      "the environment has not confirmed the end of a run in time; the process ends without it",
    );
    this.#abandoned.resolve({ kind: "unconfirmed" });
  }
}
