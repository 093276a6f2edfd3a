/**
 * The end of a run whose environment does not keep its time limit. Every environment keeps the limit itself, and closer; this one
 * is for a module that has lost a run: it must not hold a place for ever.
 */
import { type Deadline, startDeadline } from "#runner/deadline.ts";

/** For what an environment does before the time of a run begins: it waits for a process of its own, more than once if need be. */
export const BACKSTOP_MS = 60_000;

export class RunBackstop {
  readonly #timeoutMs: number | null;
  readonly #ring: () => void;
  #deadline: Deadline;

  /** Starts counting. `timeoutMs`: of the run; null never rings. `ring` is called once at most. */
  constructor(timeoutMs: number | null, ring: () => void) {
    this.#timeoutMs = timeoutMs;
    this.#ring = ring;
    this.#deadline = this.#start(0);
  }

  /** The run is a repetition of one that used `usedMs`: doing that again may take as long, and longer. */
  carry(usedMs: number): void {
    this.#deadline[Symbol.dispose]();
    this.#deadline = this.#start(2 * usedMs);
  }

  /** Nobody's time passes: the run waits for a person, or for its turn in the environment. */
  pause(): void {
    this.#deadline.pause();
  }

  resume(): void {
    this.#deadline.resume();
  }

  stop(): void {
    this.#deadline[Symbol.dispose]();
  }

  #start(moreMs: number): Deadline {
    const limitMs = this.#timeoutMs === null ? null : this.#timeoutMs + moreMs + BACKSTOP_MS;
    return startDeadline(limitMs, this.#ring);
  }
}
