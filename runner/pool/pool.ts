/**
 * Children that are started ahead of time, and the places of the runs that take them. Follows demand and gives memory back
 * when it is quiet. Owns every child it has started until that has exited; knows no run.
 */
import { availableParallelism } from "node:os";
import type { Child } from "./spawn.ts";

/** Children that start at the same time: more would slow down each other and the scripts that run. */
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
  /** Starts one child and brings it to `ready`, with the usual memory limit or with `memoryMb`. Aborting ends it. */
  start(signal: AbortSignal, memoryMb?: number): Promise<Child>;
  /**
   * A child serves several runs, one at a time, and is given back after each; `min` then counts those in use as well.
   * Otherwise it serves one.
   */
  isReused: boolean;
  /** Children that are kept ready at least. */
  min: number;
  /** Children that are kept ready at most, when there is demand. Without effect on reused ones. */
  max: number;
  /** After this long without need of them, spare children beyond `min` are ended. */
  quietMs: number;
  /** Called for every failed start and every child that died or spoke while idle. */
  onError(trouble: { kind: "boot_failed" | "idle_death"; error: Error }): void;
}

export interface Pool extends AsyncDisposable {
  /**
   * A living, ready child without listener, for one run. Starts one if none is warm, and always for another memory limit
   * than the pool's. Null once `signal` is aborted.
   * @throws the last start's error when starts fail repeatedly; an error when the pool closes.
   */
  take(signal: AbortSignal, memoryMb?: number): Promise<Child | null>;
  /** Takes back a child that can serve another run. */
  giveBack(child: Child): void;
  /** Ends the children that wait, and those being started once they are ready, and starts others. */
  replaceIdle(): void;
  /** `target`: how many are kept warm at present; `replaced`: idle ones that died or broke the protocol, since the start. */
  status(): { warm: number; booting: number; target: number; waiting: number; replaced: number };
  /**
   * Starts the first child and keeps it warm; the rest of `min` follow. The answer is for looking at: the pool still
   * owns it.
   * @throws like `take`.
   */
  warmUp(): Promise<Child>;
  /** Ends every child, also those in use, and waits until they are reaped. Idempotent. */
  [Symbol.asyncDispose](): Promise<void>;
}

interface Idle {
  child: Child;
  detach: () => void;
}

/** A `take` in line. Only failures of starts that began after it count against it. */
interface Waiter extends PromiseWithResolvers<Child | null> {
  since: number;
  triesLeft: number;
}

export function createPool(options: PoolOptions): Pool {
  const { min, max, isReused } = options;
  const idle: Idle[] = [];
  const waiters = new Set<Waiter>();
  /** Idle or in use. */
  const alive = new Set<Child>();
  const dying = new Set<Child>();
  const starts = new Set<Promise<unknown>>();
  const closing = new AbortController();
  let booting = 0;
  let target = min;
  let replaced = 0;
  /** Calls of `warmUp` that wait. */
  let warming = 0;
  let startCount = 0;
  /** Starts up to this one began before the children that waited were replaced. */
  let replacedUpTo = 0;
  let failures = 0;
  let deathsInARow = 0;
  /** The fewest children that were warm since the last look: they were not needed all that time. */
  let spare = 0;
  let refillTimer: NodeJS.Timeout | undefined;
  let quietTimer: NodeJS.Timeout | undefined;

  function fill(): void {
    clearTimeout(refillTimer);
    refillTimer = undefined;
    while (!closing.signal.aborted && booting < MAX_BOOTS && booting + idle.length < countNeeded())
      track(boot());
  }

  function countNeeded(): number {
    if (isReused) return Math.max(min - (alive.size - idle.length), waiters.size);
    // A waiter whose child becomes an idle one is no demand beyond the target.
    return Math.max(target + waiters.size - warming, waiters.size);
  }

  function fillIn(delayMs: number): void {
    if (!closing.signal.aborted) refillTimer ??= setTimeout(fill, delayMs);
  }

  async function boot(): Promise<void> {
    const number = ++startCount;
    booting++;
    let child: Child;
    try {
      child = await options.start(closing.signal);
    } catch (error) {
      booting--;
      handleFailure(number, error as Error);
      return;
    }
    booting--;
    failures = 0;
    own(child);
    if (number > replacedUpTo) offer(child);
    else end(child);
    if (deathsInARow === 0) fill();
    else fillIn(backOff(deathsInARow));
  }

  function track(start: Promise<unknown>): void {
    starts.add(start);
    void start.finally(() => starts.delete(start));
  }

  function own(child: Child): void {
    alive.add(child);
    void child.exited.then(() => {
      dying.delete(child);
      if (alive.delete(child) && isReused) fill();
    });
  }

  function handleFailure(number: number, error: Error): void {
    if (closing.signal.aborted) return;
    failures++;
    options.onError({ kind: "boot_failed", error });
    for (const waiter of waiters) {
      if (waiter.since >= number || --waiter.triesLeft > 0) continue;
      waiters.delete(waiter);
      waiter.reject(error);
    }
    fillIn(backOff(waiters.size > 0 ? Math.min(failures, MAX_FAILED_BOOTS) : failures));
  }

  /** Hands a child to the first who waits, or keeps it. */
  function offer(child: Child): void {
    if (closing.signal.aborted || !isAlive(child)) {
      end(child);
      return;
    }
    const [waiter] = waiters;
    if (waiter === undefined) keepIdle(child);
    else {
      waiters.delete(waiter);
      waiter.resolve(child);
    }
  }

  /** The next child that becomes ready. */
  function waitForChild(): Waiter {
    const triesLeft = failures < MAX_FAILED_BOOTS ? MAX_FAILED_BOOTS : 1;
    const waiter = { ...Promise.withResolvers<Child | null>(), since: startCount, triesLeft };
    waiters.add(waiter);
    fill();
    return waiter;
  }

  async function startOther(signal: AbortSignal, memoryMb: number): Promise<Child | null> {
    try {
      const child = await options.start(signal, memoryMb);
      own(child);
      if (!signal.aborted && !closing.signal.aborted) return child;
      end(child);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return null;
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
      options.onError({ kind: "idle_death", error: new Error(`An idle child ${why}; it is replaced.`) });
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
    if (alive.delete(child)) dying.add(child);
  }

  /** While there is more than `min`, looks once in a while whether it was needed. */
  function watchQuiet(): void {
    const hasMore = isReused ? alive.size > min : target > min || idle.length > min;
    if (quietTimer !== undefined || closing.signal.aborted || !hasMore) return;
    spare = idle.length;
    quietTimer = setTimeout(() => {
      quietTimer = undefined;
      target = Math.max(min, target - spare);
      const surplus = isReused ? Math.min(spare, alive.size - min) : idle.length - target;
      for (const entry of idle.splice(0, Math.max(0, surplus))) {
        entry.detach();
        end(entry.child);
      }
      watchQuiet();
    }, options.quietMs);
  }

  return {
    async take(signal, memoryMb) {
      if (closing.signal.aborted) throw new Error("The pool of children is closed.");
      if (signal.aborted) return null;
      if (memoryMb !== undefined) {
        const other = startOther(signal, memoryMb);
        track(other.catch(() => {}));
        return other;
      }
      for (let entry = idle.pop(); entry !== undefined; entry = idle.pop()) {
        spare = Math.min(spare, idle.length);
        entry.detach();
        if (isAlive(entry.child)) {
          deathsInARow = 0;
          if (!isReused) fillIn(REFILL_DELAY_MS);
          return entry.child;
        }
        replaced++;
        end(entry.child);
      }
      spare = 0;
      if (!isReused) target = Math.min(max, target + 1);
      watchQuiet();
      const waiter = waitForChild();
      const onAbort = () => {
        waiters.delete(waiter);
        waiter.resolve(null);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const child = await waiter.promise.finally(() => signal.removeEventListener("abort", onAbort));
      // Aborted after the child was handed over: it is not used.
      if (child === null || !signal.aborted) return child;
      offer(child);
      return null;
    },
    giveBack: offer,
    replaceIdle() {
      replacedUpTo = startCount;
      for (const entry of idle.splice(0)) {
        entry.detach();
        end(entry.child);
      }
      fill();
    },
    status: () => ({ warm: idle.length, booting, target, waiting: waiters.size, replaced }),
    async warmUp() {
      warming++;
      try {
        const child = (await waitForChild().promise) as Child;
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
      for (const waiter of waiters) waiter.reject(new Error("The pool of children is closed."));
      waiters.clear();
      for (const entry of idle.splice(0)) entry.detach();
      for (const child of alive) end(child);
      await Promise.all(starts);
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
