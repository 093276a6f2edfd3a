/**
 * One slot process, seen from the server: its runs one after another, each as a channel of its own that ends with the
 * run. Checks what the slot says about itself; a slot that says anything out of turn is killed. Knows no bindings.
 */

import type { Child } from "#runner/process/spawn.ts";
import type { Channel, ChannelClose, ChannelListener } from "#runner/wire/channel.ts";
import type { Frame } from "#runner/wire/frames.ts";
import { type BeginParams, controlMessageSchema, type DoneParams } from "./control.ts";

/** From the end of a run until the slot must be ready for the next one. */
const MAX_TIDY_MS = 5_000;
/** From a run's last message until its `done`. */
const MAX_DONE_MS = 1_000;

/** `tidying`: from the end of a run until the slot has said that it is idle and the run's holder has let go of it. */
export type SlotState = "idle" | "running" | "tidying" | "dead";

/** One run's hold on a slot. */
export interface SlotRun {
  /** The slot as the child of one run: its channel carries this run's messages only and closes with the run. */
  readonly child: Child;
  /** What the slot measured; null if it died, or did not say so in time and was killed. Call it when the run's session is over. */
  finish(): Promise<DoneParams | null>;
  /**
   * Lets go of the slot: only then may another run begin on it. Whoever finds fault with the run kills the slot before;
   * a kill through this run's child does nothing any more. Idempotent.
   */
  release(): void;
}

export interface Slot {
  readonly pid: number;
  readonly state: SlotState;
  /** Runs begun so far. */
  readonly runs: number;
  readonly exited: Promise<unknown>;
  /** Opens a run; the slot must be idle. The first message sent over the run's channel must be `start`. */
  begin(params: BeginParams): SlotRun;
  /** SIGKILL. Idempotent. */
  kill(): void;
}

export interface SlotEvents {
  idle(slot: Slot): void;
  /** Called once. `why` is null after `kill`. */
  dead(slot: Slot, why: string | null): void;
}

interface CurrentRun {
  params: BeginParams;
  hasStarted: boolean;
  listener: ChannelListener | null;
  close: ChannelClose | null;
  done: PromiseWithResolvers<DoneParams | null>;
  /** The slot has said that it is ready for another run. */
  isTidy: boolean;
  isReleased: boolean;
}

/** Takes over a child that has just become ready and has no listener. */
export function createSlot(child: Child, events: SlotEvents): Slot {
  const { channel } = child;
  let state: SlotState = "idle";
  let runs = 0;
  let current: CurrentRun | null = null;
  /** The latest run, also when it is over: it holds the slot until it is released. */
  let holder: CurrentRun | null = null;
  let timer: NodeJS.Timeout | undefined;

  function die(why: string | null): void {
    if (state === "dead") return;
    state = "dead";
    clearTimeout(timer);
    child.kill();
    events.dead(slot, why);
  }

  function receive(frame: Frame): void {
    if (isRunMessage(frame.value)) {
      if (current?.listener != null) current.listener.message(frame);
      else refuse("sent a message of a run while none was listening");
      return;
    }
    const parsed = controlMessageSchema.safeParse(frame.value);
    if (!parsed.success) refuse("sent a message that is neither of a run nor its own");
    else if (parsed.data.method === "idle") becomeTidy();
    else endRun(parsed.data.params);
  }

  function refuse(why: string): void {
    die(`The slot process ${why}.`);
    channel.close();
  }

  function becomeTidy(): void {
    if (state !== "tidying" || holder === null || holder.isTidy) {
      refuse("said it was idle out of turn");
      return;
    }
    clearTimeout(timer);
    holder.isTidy = true;
    offerIfFree();
  }

  /**
   * Both are needed: the end of a run and the word that the slot is idle may come in one read, and the run is judged only
   * after that. A slot that was handed on before would be killed with the next run on it.
   */
  function offerIfFree(): void {
    if (state !== "tidying" || holder?.isTidy !== true || !holder.isReleased) return;
    state = "idle";
    events.idle(slot);
  }

  function release(run: CurrentRun): void {
    if (run.isReleased) return;
    // Nobody would answer for it any more.
    if (run === current) die(null);
    run.isReleased = true;
    offerIfFree();
  }

  function endRun(params: DoneParams): void {
    const run = current;
    if (run === null) {
      refuse("ended a run while there was none");
      return;
    }
    current = null;
    state = "tidying";
    clearTimeout(timer);
    timer = setTimeout(
      () => die("The slot process did not become ready for its next run in time."),
      MAX_TIDY_MS,
    );
    run.done.resolve(params);
    closeRun(run, { kind: "ended" });
  }

  function closeRun(run: CurrentRun, close: ChannelClose): void {
    run.close ??= close;
    const told = run.listener;
    run.listener = null;
    told?.closed(run.close);
  }

  channel.attach({
    message: receive,
    closed(close) {
      const run = current;
      current = null;
      die(close.kind === "closed" ? null : "The slot process ended.");
      if (run === null) return;
      run.done.resolve(null);
      closeRun(run, close);
    },
  });

  const slot: Slot = {
    pid: child.pid,
    get state() {
      return state;
    },
    get runs() {
      return runs;
    },
    exited: child.exited,
    begin(params) {
      if (state !== "idle") throw new Error(`A slot that is ${state} cannot begin a run.`);
      state = "running";
      runs++;
      const run: CurrentRun = {
        params,
        hasStarted: false,
        listener: null,
        close: null,
        done: Promise.withResolvers(),
        isTidy: false,
        isReleased: false,
      };
      current = run;
      holder = run;
      return {
        child: asChildOfRun(child, run, openRunChannel(channel, run), () => {
          if (!run.isReleased) die(null);
        }),
        async finish() {
          if (current === run) {
            clearTimeout(timer);
            timer = setTimeout(() => die("The slot process did not end its run in time."), MAX_DONE_MS);
          }
          return run.done.promise;
        },
        release: () => release(run),
      };
    },
    kill: () => die(null),
  };
  return slot;
}

const NO_EXIT = { code: null, signal: null };

function isRunMessage(value: unknown): boolean {
  return typeof value === "object" && value !== null && "jsonrpc" in value;
}

function openRunChannel(channel: Channel, run: CurrentRun): Channel {
  return {
    attach(listener) {
      if (run.listener !== null) throw new Error("a channel has one listener at a time");
      if (run.close !== null) listener.closed(run.close);
      else run.listener = listener;
      return () => {
        if (run.listener === listener) run.listener = null;
      };
    },
    send(json) {
      if (run.close !== null) return false;
      if (run.hasStarted) return channel.send(json);
      run.hasStarted = true;
      return channel.send(`{"method":"begin","params":${JSON.stringify(run.params)},"start":${json}}`);
    },
    writable: () => channel.writable(),
    // What comes after a run's end is the slot's own `done`.
    bufferedBytes: 0,
    get queuedBytes() {
      return channel.queuedBytes;
    },
    get isClosed() {
      return run.close !== null || channel.isClosed;
    },
    get hasWriteFailed() {
      return channel.hasWriteFailed;
    },
    close() {
      if (run.close === null) channel.close();
    },
  };
}

/** The same process, with the channel of one run. For a run whose isolate is gone it counts as ended. */
function asChildOfRun(child: Child, run: CurrentRun, channel: Channel, kill: () => void): Child {
  const isolateGone = run.done.promise.then((done) => (done === null ? child.exited : NO_EXIT));
  return {
    pid: child.pid,
    channel,
    ready: child.ready,
    check: child.check,
    bootMs: child.bootMs,
    get exit() {
      return child.exit;
    },
    exited: Promise.race([child.exited, isolateGone]),
    // A slot that lives on has no last words, and waiting for them would take a while.
    engineText: async () => ((await isolateGone) === NO_EXIT ? "" : child.engineText()),
    groupName: child.groupName,
    ranOutOfMemory: () => child.ranOutOfMemory(),
    kill,
  };
}
