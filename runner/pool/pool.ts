/**
 * Starts children ahead of the runs that take them. Follows demand, and frees memory when demand falls. Owns each
 * child it started until the child has exited. Knows no run.
 */
import { availableParallelism } from "node:os";
import { type Waiter, WaitingLine } from "./line.ts";
import type { Child } from "./spawn.ts";

/** Maximum number of children starting at the same time. More would slow down each other and the running scripts. */
const MAX_BOOTS = availableParallelism();
/** Number of starts that fail in a row before waiting runs fail. */
const MAX_FAILED_BOOTS = 3;
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 10_000;
/**
 * Delay before a taken child is replaced. Starting the next one occupies a core for about this long; by then a short
 * run is over, stored and returned to its caller. If no child is idle, starts are not delayed.
 */
const REFILL_DELAY_MS = 20;

export interface PoolOptions {
  /** Starts a child and waits for its `ready`, with the usual memory limit or `memoryMb`. Aborting ends the child. */
  start(signal: AbortSignal, memoryMb?: number): Promise<Child>;
  /**
   * True if a child serves several runs, one at a time, and is given back after each. `min` then includes children in
   * use.
   */
  isReused: boolean;
  min: number;
  /** Maximum number of children that demand keeps ready. Has no effect if children are reused. */
  max: number;
  quietMs: number;
  onError(trouble: { kind: "boot_failed" | "idle_death"; error: Error }): void;
}

interface Idle {
  child: Child;
  detach: () => void;
}

export class Pool implements AsyncDisposable {
  readonly #options: PoolOptions;
  readonly #idle: Idle[] = [];
  readonly #line = new WaitingLine();
  readonly #alive = new Set<Child>();
  readonly #dying = new Set<Child>();
  readonly #starts = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #booting = 0;
  #target: number;
  #replaced = 0;
  #warming = 0;
  #startCount = 0;
  #replacedUpTo = 0;
  #failures = 0;
  #deathsInARow = 0;
  /** Smallest number of idle children since the last check. Nothing needed them in that time. */
  #spare = 0;
  #refillTimer: NodeJS.Timeout | undefined;
  #quietTimer: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#target = options.min;
  }

  /**
   * Resolves with a living, ready child that has no listener, or with null once `signal` aborts. Starts a child if
   * none is idle or if `memoryMb` differs from the pool's limit.
   * @throws the last start's error if starts fail repeatedly; an error if the pool closes
   */
  async take(signal: AbortSignal, memoryMb?: number): Promise<Child | null> {
    if (this.#closing.signal.aborted) throw new Error("The pool of children is closed.");
    if (signal.aborted) return null;
    if (memoryMb !== undefined) {
      const other = this.#startOther(signal, memoryMb);
      this.#track(other.catch(() => {}));
      return other;
    }
    const { max, isReused } = this.#options;
    for (let entry = this.#idle.pop(); entry !== undefined; entry = this.#idle.pop()) {
      this.#spare = Math.min(this.#spare, this.#idle.length);
      entry.detach();
      if (this.#isUsable(entry.child)) {
        this.#deathsInARow = 0;
        if (!isReused) this.#fillIn(REFILL_DELAY_MS);
        return entry.child;
      }
      this.#replaced++;
      this.#end(entry.child);
    }
    this.#spare = 0;
    if (!isReused) this.#target = Math.min(max, this.#target + 1);
    this.#watchQuiet();
    return this.#waitFor(signal);
  }

  giveBack(child: Child): void {
    if (this.#closing.signal.aborted || !this.#isUsable(child)) {
      this.#end(child);
      return;
    }
    if (!this.#line.hand(child)) this.#keepIdle(child);
  }

  replaceIdle(): void {
    this.#replacedUpTo = this.#startCount;
    this.#endIdle(this.#idle.length);
    this.#fill();
  }

  status(): { warm: number; booting: number; target: number; waiting: number; replaced: number } {
    return {
      warm: this.#idle.length,
      booting: this.#booting,
      target: this.#target,
      waiting: this.#line.waiters.size,
      replaced: this.#replaced,
    };
  }

  /**
   * Starts the first child and keeps it idle; the rest of `min` follow. The pool still owns it. @throws like `take`
   */
  async warmUp(): Promise<Child> {
    this.#warming++;
    try {
      const child = (await this.#joinLine().promise) as Child;
      this.#keepIdle(child);
      return child;
    } finally {
      this.#warming--;
      this.#fill();
    }
  }

  /** Ends every child, even those in use, and waits until they are reaped. Idempotent. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#refillTimer);
    clearTimeout(this.#quietTimer);
    this.#line.close(new Error("The pool of children is closed."));
    this.#endIdle(this.#idle.length);
    for (const child of this.#alive) this.#end(child);
    await Promise.all(this.#starts);
    await Promise.all([...this.#dying].map((child) => child.exited));
  }

  #fill(): void {
    clearTimeout(this.#refillTimer);
    this.#refillTimer = undefined;
    while (
      !this.#closing.signal.aborted &&
      this.#booting < MAX_BOOTS &&
      this.#booting + this.#idle.length < this.#countNeeded()
    ) {
      this.#track(this.#boot());
    }
  }

  #countNeeded(): number {
    const waiting = this.#line.waiters.size;
    if (this.#options.isReused) {
      return Math.max(this.#options.min - (this.#alive.size - this.#idle.length), waiting);
    }
    return Math.max(this.#target + waiting - this.#warming, waiting);
  }

  #fillIn(delayMs: number): void {
    if (!this.#closing.signal.aborted) this.#refillTimer ??= setTimeout(() => this.#fill(), delayMs);
  }

  async #boot(): Promise<void> {
    const number = ++this.#startCount;
    this.#booting++;
    let child: Child;
    try {
      child = await this.#options.start(this.#closing.signal);
    } catch (error) {
      this.#booting--;
      this.#handleFailure(number, error as Error);
      return;
    }
    this.#booting--;
    this.#failures = 0;
    this.#own(child);
    if (number > this.#replacedUpTo) this.giveBack(child);
    else this.#end(child);
    if (this.#deathsInARow === 0) this.#fill();
    else this.#fillIn(backOff(this.#deathsInARow));
  }

  #track(start: Promise<unknown>): void {
    this.#starts.add(start);
    void start.finally(() => this.#starts.delete(start));
  }

  #own(child: Child): void {
    this.#alive.add(child);
    void child.exited.then(() => {
      this.#dying.delete(child);
      if (this.#alive.delete(child) && this.#options.isReused) this.#fill();
    });
  }

  #isUsable(child: Child): boolean {
    return this.#alive.has(child) && !child.channel.isClosed;
  }

  #handleFailure(number: number, error: Error): void {
    if (this.#closing.signal.aborted) return;
    this.#failures++;
    this.#options.onError({ kind: "boot_failed", error });
    this.#line.fail(number, error);
    const { size } = this.#line.waiters;
    this.#fillIn(backOff(size > 0 ? Math.min(this.#failures, MAX_FAILED_BOOTS) : this.#failures));
  }

  #joinLine(): Waiter {
    const triesLeft = this.#failures < MAX_FAILED_BOOTS ? MAX_FAILED_BOOTS : 1;
    const waiter = this.#line.join(this.#startCount, triesLeft);
    this.#fill();
    return waiter;
  }

  async #waitFor(signal: AbortSignal): Promise<Child | null> {
    const waiter = this.#joinLine();
    const onAbort = () => this.#line.leave(waiter);
    signal.addEventListener("abort", onAbort, { once: true });
    const child = await waiter.promise.finally(() => signal.removeEventListener("abort", onAbort));
    if (child === null || !signal.aborted) return child;
    this.giveBack(child);
    return null;
  }

  async #startOther(signal: AbortSignal, memoryMb: number): Promise<Child | null> {
    try {
      const child = await this.#options.start(signal, memoryMb);
      this.#own(child);
      if (!signal.aborted && !this.#closing.signal.aborted) return child;
      this.#end(child);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return null;
  }

  #keepIdle(child: Child): void {
    const entry: Idle = { child, detach: () => {} };
    const lose = (why: string) => {
      const at = this.#idle.indexOf(entry);
      if (at < 0) return;
      this.#idle.splice(at, 1);
      entry.detach();
      this.#end(child);
      this.#replaced++;
      const error = new Error(`An idle child ${why}; it is replaced.`);
      this.#options.onError({ kind: "idle_death", error });
      this.#fillIn(backOff(++this.#deathsInARow));
    };
    this.#idle.push(entry);
    entry.detach = child.channel.attach({
      message: () => lose("spoke before it was given a run"),
      closed: () => lose("died"),
    });
    this.#watchQuiet();
  }

  #endIdle(count: number): void {
    for (const entry of this.#idle.splice(0, Math.max(0, count))) {
      entry.detach();
      this.#end(entry.child);
    }
  }

  #end(child: Child): void {
    child.kill();
    child.channel.close();
    if (this.#alive.delete(child)) this.#dying.add(child);
  }

  /** While more than `min` children exist, checks regularly whether they were needed. */
  #watchQuiet(): void {
    const { min, isReused, quietMs } = this.#options;
    const hasMore = isReused ? this.#alive.size > min : this.#target > min || this.#idle.length > min;
    if (this.#quietTimer !== undefined || this.#closing.signal.aborted || !hasMore) return;
    this.#spare = this.#idle.length;
    this.#quietTimer = setTimeout(() => {
      this.#quietTimer = undefined;
      this.#target = Math.max(min, this.#target - this.#spare);
      const surplus = isReused
        ? Math.min(this.#spare, this.#alive.size - min)
        : this.#idle.length - this.#target;
      this.#endIdle(surplus);
      this.#watchQuiet();
    }, quietMs);
  }
}

function backOff(failures: number): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), MAX_BACKOFF_MS);
}
