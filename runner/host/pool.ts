/**
 * Children that are started ahead of time and serve one run each. Follows demand between `min` and `max` and gives
 * memory back when it is quiet. Owns a child until it is taken; knows no run.
 */
import { availableParallelism } from "node:os";
import type { Child } from "../process/spawn.ts";

/** Children that start at the same time: more would only slow each other, and the scripts that run, down. */
const MAX_BOOTS = availableParallelism();
/** Starts that fail one after another before those who wait are told. */
const MAX_FAILED_BOOTS = 3;
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 10_000;
/**
 * A taken child is replaced this much later: starting the next one takes a core for about this long, and a short run
 * that took the last one is over, stored and answered by then. With nothing warm left a start never waits.
 */
const REFILL_DELAY_MS = 20;

export interface PoolOptions {
  /** Starts one child and brings it to `ready`. Aborting the signal ends it. */
  start(signal: AbortSignal): Promise<Child>;
  min: number;
  max: number;
  /** After this long without need of them, spare children beyond `min` are ended. */
  quietMs: number;
  /** Told of every failed start and of every child that died or spoke while idle. */
  onTrouble(trouble: { kind: "boot_failed" | "idle_death"; error: Error }): void;
}

export interface PoolStatus {
  warm: number;
  booting: number;
  /** How many the pool keeps warm at present. */
  target: number;
  waiting: number;
  /** Idle children that died or broke the protocol and were replaced, since the start. */
  replaced: number;
}

export interface Pool extends AsyncDisposable {
  /**
   * A living, ready child without listener; the caller owns it. Starts one if none is warm.
   * @throws the last start's error when starts fail repeatedly; an error when the pool closes.
   */
  take(): Promise<Child>;
  /** Takes back a child that was given nothing to run. */
  giveBack(child: Child): void;
  status(): PoolStatus;
  /**
   * Starts the first child and keeps it warm; the rest of `min` follow by themselves. The answer is for looking at:
   * the pool still owns it.
   * @throws like `take`.
   */
  warmUp(): Promise<Child>;
  /** Ends every child it owns and waits until they are reaped. Idempotent. */
  [Symbol.asyncDispose](): Promise<void>;
}

interface Idle {
  child: Child;
  detach: () => void;
}

/** Somebody who waits for a child. Only starts that began after it came count against it. */
interface Waiter extends PromiseWithResolvers<Child> {
  since: number;
  triesLeft: number;
}

export function createPool(options: PoolOptions): Pool {
  const { min, max } = options;
  const idle: Idle[] = [];
  const waiters: Waiter[] = [];
  const boots = new Set<Promise<void>>();
  const dying = new Set<Child>();
  const closing = new AbortController();
  let target = min;
  let replaced = 0;
  /** Calls of `warmUp` that wait. */
  let warming = 0;
  let startCount = 0;
  let failures = 0;
  let deathsInARow = 0;
  /** The fewest children that were warm since the last look; what nobody needed all that time is given back. */
  let spare = 0;
  let refillTimer: NodeJS.Timeout | undefined;
  let quietTimer: NodeJS.Timeout | undefined;

  function fill(): void {
    clearTimeout(refillTimer);
    refillTimer = undefined;
    while (!closing.signal.aborted && boots.size < MAX_BOOTS && isShort()) boot();
  }

  function isShort(): boolean {
    // A waiter whose child becomes an idle one is no demand beyond the target.
    const needed = Math.max(target + waiters.length - warming, waiters.length);
    return boots.size + idle.length < needed;
  }

  function fillIn(delayMs: number): void {
    if (!closing.signal.aborted) refillTimer ??= setTimeout(fill, delayMs);
  }

  function boot(): void {
    const number = ++startCount;
    const started = options.start(closing.signal).then(
      (child) => {
        boots.delete(started);
        failures = 0;
        welcome(child);
        if (deathsInARow === 0) fill();
        else fillIn(backOff(deathsInARow));
      },
      (error: Error) => {
        boots.delete(started);
        handleFailure(number, error);
      },
    );
    boots.add(started);
  }

  function handleFailure(number: number, error: Error): void {
    if (closing.signal.aborted) return;
    failures++;
    options.onTrouble({ kind: "boot_failed", error });
    for (const waiter of waiters.filter(({ since }) => since < number)) {
      if (--waiter.triesLeft > 0) continue;
      waiters.splice(waiters.indexOf(waiter), 1);
      waiter.reject(error);
    }
    fillIn(backOff(waiters.length > 0 ? Math.min(failures, MAX_FAILED_BOOTS) : failures));
  }

  function welcome(child: Child): void {
    if (closing.signal.aborted || !isAlive(child)) {
      end(child);
      return;
    }
    const waiter = waiters.shift();
    if (waiter === undefined) keepIdle(child);
    else waiter.resolve(child);
  }

  /** The next child that becomes ready. */
  function startFor(): Promise<Child> {
    const triesLeft = failures < MAX_FAILED_BOOTS ? MAX_FAILED_BOOTS : 1;
    const waiter = { ...Promise.withResolvers<Child>(), since: startCount, triesLeft };
    waiters.push(waiter);
    fill();
    return waiter.promise;
  }

  function keepIdle(child: Child): void {
    const entry: Idle = { child, detach: () => {} };
    const lose = (why: string) => {
      const at = idle.indexOf(entry);
      if (at < 0) return;
      idle.splice(at, 1);
      entry.detach();
      end(child);
      replaced++;
      options.onTrouble({ kind: "idle_death", error: new Error(`An idle child ${why}; it is replaced.`) });
      fillIn(backOff(++deathsInARow));
    };
    idle.push(entry);
    entry.detach = child.channel.attach({
      message: () => lose("spoke before it was given a run"),
      closed: () => lose("died"),
    });
    watchQuiet();
  }

  function end(child: Child): void {
    child.kill();
    child.channel.close();
    dying.add(child);
    void child.exited.then(() => dying.delete(child));
  }

  /** While there is more than `min`, looks once in a while whether it was needed. */
  function watchQuiet(): void {
    if (quietTimer !== undefined || closing.signal.aborted || (target <= min && idle.length <= min)) return;
    spare = idle.length;
    quietTimer = setTimeout(() => {
      quietTimer = undefined;
      target = Math.max(min, target - spare);
      while (idle.length > target) {
        const entry = idle.shift() as Idle;
        entry.detach();
        end(entry.child);
      }
      watchQuiet();
    }, options.quietMs);
  }

  return {
    async take() {
      if (closing.signal.aborted) throw new Error("The pool of children is closed.");
      for (let entry = idle.pop(); entry !== undefined; entry = idle.pop()) {
        spare = Math.min(spare, idle.length);
        entry.detach();
        if (isAlive(entry.child)) {
          deathsInARow = 0;
          fillIn(REFILL_DELAY_MS);
          return entry.child;
        }
        replaced++;
        end(entry.child);
      }
      spare = 0;
      target = Math.min(max, target + 1);
      watchQuiet();
      return startFor();
    },
    giveBack(child) {
      if (idle.length < max) welcome(child);
      else end(child);
    },
    status: () => ({ warm: idle.length, booting: boots.size, target, waiting: waiters.length, replaced }),
    async warmUp() {
      warming++;
      try {
        const child = await startFor();
        keepIdle(child);
        return child;
      } finally {
        warming--;
        fill();
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      clearTimeout(refillTimer);
      clearTimeout(quietTimer);
      for (const waiter of waiters.splice(0)) waiter.reject(new Error("The pool of children is closed."));
      for (const entry of idle.splice(0)) {
        entry.detach();
        end(entry.child);
      }
      await Promise.all(boots);
      await Promise.all([...dying].map((child) => child.exited));
    },
  };
}

/** How long to wait after so many failures in a row. */
function backOff(failures: number): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), MAX_BACKOFF_MS);
}

function isAlive(child: Child): boolean {
  return child.exit === null && !child.channel.isClosed;
}
