/**
 * The pool of slot processes: started on demand up to `max`, kept down to `min` when it is quiet, replaced when they
 * are used up or dead. First come, first served. Knows no run.
 */
import type { Child } from "#runner/process/spawn.ts";
import { createSlot, type Slot } from "./slot.ts";

/** Starts that fail one after another before those who wait are told. */
const MAX_FAILED_STARTS = 3;
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 10_000;

export interface SlotPoolOptions {
  start(signal: AbortSignal): Promise<Child>;
  min: number;
  /** Asked anew each time: a slot whose run is frozen does not count. */
  max(): number;
  /** After this long without a run, slots beyond `min` are ended. */
  quietMs: number;
  /** Asked each time a slot becomes idle: true ends it. */
  isUsedUp(slot: Slot): boolean;
  onTrouble(error: Error): void;
}

export interface SlotPool extends AsyncDisposable {
  /** An idle slot; its caller begins a run on it at once. Aborting the signal gives up the place in the line. */
  acquire(signal: AbortSignal): Promise<Slot | "aborted">;
  status(): { idle: number; starting: number; processes: number; waiting: number; replaced: number };
  /** `max` has grown. */
  grow(): void;
  /** Resolves with a first child's report when `min` slots are idle. Rejects with the reason if they cannot be started. */
  warmUp(): Promise<Child>;
}

export function createSlotPool(options: SlotPoolOptions): SlotPool {
  const slots = new Set<Slot>();
  const idle: Slot[] = [];
  const line = new Set<PromiseWithResolvers<Slot>>();
  const starts = new Set<Promise<void>>();
  const dying = new Set<Promise<unknown>>();
  const closing = new AbortController();
  let failures = 0;
  let replaced = 0;
  let first: PromiseWithResolvers<Child> | null = Promise.withResolvers<Child>();
  let quietTimer: NodeJS.Timeout | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  first.promise.catch(() => {});

  function fill(): void {
    if (closing.signal.aborted || retryTimer !== undefined) return;
    const spoken = () => slots.size + starts.size;
    while (spoken() < options.min || (spoken() < options.max() && line.size > idle.length + starts.size))
      start();
  }

  function start(): void {
    const started = options.start(closing.signal).then(
      (child) => {
        starts.delete(started);
        failures = 0;
        welcome(child);
      },
      (error: Error) => {
        starts.delete(started);
        handleFailure(error);
      },
    );
    starts.add(started);
  }

  function welcome(child: Child): void {
    const slot = createSlot(child, { idle: offer, dead: bury });
    slots.add(slot);
    if (closing.signal.aborted) {
      slot.kill();
      return;
    }
    first?.resolve(child);
    offer(slot);
  }

  function handleFailure(error: Error): void {
    if (closing.signal.aborted) return;
    options.onTrouble(error);
    if (++failures >= MAX_FAILED_STARTS) {
      first?.reject(error);
      for (const waiter of line) waiter.reject(error);
      line.clear();
    }
    const delayMs = Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), MAX_BACKOFF_MS);
    retryTimer ??= setTimeout(() => {
      retryTimer = undefined;
      fill();
    }, delayMs);
  }

  function offer(slot: Slot): void {
    if (slot.state !== "idle") return;
    if (slot.runs > 0 && options.isUsedUp(slot)) {
      replaced++;
      slot.kill();
      return;
    }
    const [waiter] = line;
    if (waiter === undefined) {
      idle.push(slot);
      watchQuiet();
      return;
    }
    line.delete(waiter);
    waiter.resolve(slot);
  }

  function bury(slot: Slot, why: string | null): void {
    slots.delete(slot);
    const at = idle.indexOf(slot);
    if (at >= 0) idle.splice(at, 1);
    const gone: Promise<unknown> = slot.exited.then(() => dying.delete(gone));
    dying.add(gone);
    if (closing.signal.aborted) return;
    if (why !== null) {
      replaced++;
      options.onTrouble(new Error(why));
    }
    fill();
  }

  function watchQuiet(): void {
    clearTimeout(quietTimer);
    quietTimer = undefined;
    if (slots.size <= options.min || closing.signal.aborted) return;
    quietTimer = setTimeout(() => {
      quietTimer = undefined;
      while (slots.size > options.min && idle.length > 0) idle[0]?.kill();
    }, options.quietMs);
    quietTimer.unref();
  }

  return {
    async acquire(signal) {
      if (closing.signal.aborted) throw new Error("The pool of slots is closed.");
      if (signal.aborted) return "aborted";
      // The one that ran last: its memory is warm, and the others get to be quiet.
      const slot = idle.pop();
      if (slot !== undefined) {
        watchQuiet();
        return slot;
      }
      const waiter = Promise.withResolvers<Slot>();
      line.add(waiter);
      fill();
      const aborted = Promise.withResolvers<"aborted">();
      const onAbort = () => {
        if (line.delete(waiter)) aborted.resolve("aborted");
      };
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        return await Promise.race([waiter.promise, aborted.promise]);
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
    status: () => ({
      idle: idle.length,
      starting: starts.size,
      processes: slots.size,
      waiting: line.size,
      replaced,
    }),
    grow: fill,
    async warmUp() {
      fill();
      const child = await (first as PromiseWithResolvers<Child>).promise;
      first = null;
      return child;
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      clearTimeout(quietTimer);
      clearTimeout(retryTimer);
      for (const waiter of line) waiter.reject(new Error("The pool of slots is closed."));
      line.clear();
      for (const slot of [...slots]) slot.kill();
      await Promise.all(starts);
      for (const slot of [...slots]) slot.kill();
      await Promise.all(dying);
    },
  };
}
