/**
 * One run on a slot, as a child whose channel ends with the run. A slot that sends anything out of turn is killed.
 */
import type { RunChild } from "#runner/host/supervisor.ts";
import type { Child } from "#runner/pool/spawn.ts";
import type { Channel, ChannelClose, ChannelListener } from "#runner/wire/channel.ts";
import type { Frame } from "#runner/wire/frames.ts";
import { type BeginParams, controlMessageSchema, type DoneParams } from "./control.ts";

/** Time from the end of a run until the slot must be idle. */
const MAX_TIDY_MS = 5_000;
/** Time from the last message of a run until its `done`. */
const MAX_DONE_MS = 1_000;
const NO_EXIT = { code: null, signal: null };

export interface SlotRun {
  readonly child: RunChild;
  /**
   * Returns the slot's measurements, or null if it died or was too late. Call it when the run's session has ended.
   */
  finish(): Promise<DoneParams | null>;
  /** Call it once the run was judged: only then may the next run begin on the slot. Idempotent. */
  release(): void;
  /** Resolves to `idle` if the slot can serve another run; otherwise it was killed. Never rejects. */
  readonly left: Promise<"idle" | "killed" | { fault: string }>;
}

/**
 * Opens a run on an idle slot. The first message over the channel must be `start`. The slot is released after it sent
 * `idle` and the run was judged: the run's end and `idle` may arrive in one read.
 */
export function beginSlotRun(slot: Child, params: BeginParams): SlotRun {
  const { channel } = slot;
  const done = Promise.withResolvers<DoneParams | null>();
  const left = Promise.withResolvers<Awaited<SlotRun["left"]>>();
  let state: "running" | "tidying" | "tidy" | "left" = "running";
  let isReleased = false;
  let hasStarted = false;
  let listener: ChannelListener | null = null;
  let closed: ChannelClose | null = null;
  let timer: NodeJS.Timeout | undefined;

  function kill(fault?: string): void {
    if (state === "left") return;
    state = "left";
    clearTimeout(timer);
    slot.kill();
    left.resolve(fault === undefined ? "killed" : { fault: `The slot process ${fault}.` });
  }

  function refuse(fault: string): void {
    kill(fault);
    channel.close();
  }

  function killIn(delayMs: number, fault: string): void {
    clearTimeout(timer);
    timer = setTimeout(kill, delayMs, fault);
  }

  function receive(frame: Frame): void {
    if (isRunMessage(frame.value)) {
      if (listener === null) refuse("sent a message of a run while none was listening");
      else listener.message(frame);
      return;
    }
    const parsed = controlMessageSchema.safeParse(frame.value);
    if (!parsed.success || frame.attachment !== null)
      refuse("sent a message that is neither of a run nor its own");
    else if (parsed.data.method === "done") endRun(parsed.data.params);
    else if (state !== "tidying") refuse("said it was idle out of turn");
    else {
      clearTimeout(timer);
      state = "tidy";
      leaveIfFree();
    }
  }

  function leaveIfFree(): void {
    if (state !== "tidy" || !isReleased) return;
    state = "left";
    detach();
    left.resolve("idle");
  }

  function endRun(measured: DoneParams): void {
    if (state !== "running") {
      refuse("ended a run while there was none");
      return;
    }
    state = "tidying";
    killIn(MAX_TIDY_MS, "did not become ready for its next run in time");
    done.resolve(measured);
    close({ kind: "ended" });
  }

  function close(how: ChannelClose): void {
    closed ??= how;
    const told = listener;
    listener = null;
    told?.closed(closed);
  }

  const detach = channel.attach({
    message: receive,
    closed(how) {
      kill(how.kind === "closed" ? undefined : "ended");
      done.resolve(null);
      close(how);
    },
  });

  const runChannel: Channel = {
    attach(next) {
      if (listener !== null) throw new Error("a channel has one listener at a time");
      if (closed !== null) next.closed(closed);
      else listener = next;
      return () => {
        if (listener === next) listener = null;
      };
    },
    send(json, attachment) {
      if (closed !== null) return false;
      if (hasStarted) return channel.send(json, attachment);
      hasStarted = true;
      return channel.send(`{"method":"begin","params":${JSON.stringify(params)},"start":${json}}`);
    },
    sendFrame: (pieces) => closed === null && channel.sendFrame(pieces),
    writable: () => channel.writable(),
    // The slot still has to send `done`.
    bufferedBytes: 0,
    get queuedBytes() {
      return channel.queuedBytes;
    },
    get isClosed() {
      return closed !== null || channel.isClosed;
    },
    get hasWriteFailed() {
      return channel.hasWriteFailed;
    },
    close() {
      if (closed === null) channel.close();
    },
  };
  const isGone = async () => (await done.promise) === null;
  return {
    child: {
      pid: slot.pid,
      channel: runChannel,
      /** A slot whose isolate is disposed counts as ended. */
      get exited() {
        return isGone().then((gone) => (gone ? slot.exited : NO_EXIT));
      },
      // A running slot has written no fatal error to wait for.
      engineText: async () => ((await isGone()) ? slot.engineText() : ""),
      ranOutOfMemory: () => slot.ranOutOfMemory(),
      kill() {
        if (!isReleased) kill();
      },
    },
    async finish() {
      if (state === "running") killIn(MAX_DONE_MS, "did not end its run in time");
      return done.promise;
    },
    release() {
      if (isReleased) return;
      // Nobody else would end the run.
      if (state === "running") kill();
      isReleased = true;
      leaveIfFree();
    },
    left: left.promise,
  };
}

function isRunMessage(value: unknown): boolean {
  return typeof value === "object" && value !== null && "jsonrpc" in value;
}
