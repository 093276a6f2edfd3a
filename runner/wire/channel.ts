/**
 * Messages over a pair of byte streams: bounded, back-pressured, one listener at a time. Knows frames, not what they
 * mean, and no process. Nothing a peer sends makes it throw or hold more than one frame and one chunk.
 */
import type { Readable, Writable } from "node:stream";
import { createFrameReader, encodeFrameText, type Frame, FrameError, parseFrame } from "./frames.ts";
import { ENVELOPE_DEPTH, PROTOCOL_LIMITS } from "./protocol.ts";

/** Frames handled before other connections get a turn; a flood of tiny frames must not hold up the server. */
const MAX_FRAMES_PER_TURN = 128;

export interface ChannelLimits {
  /** The largest frame of any kind, in bytes of JSON text. */
  maxFrameBytes: number;
  /** What may come beside the JSON of a frame. */
  maxAttachmentBytes: number;
  /** The deepest message of any kind. */
  maxDepth: number;
  /** Bytes that may wait for a peer that does not read; beyond it `send` refuses. */
  maxQueuedBytes: number;
}

const DEFAULT_LIMITS: ChannelLimits = {
  maxFrameBytes: PROTOCOL_LIMITS.maxEndBytes,
  maxAttachmentBytes: PROTOCOL_LIMITS.maxFilePieceBytes,
  maxDepth: PROTOCOL_LIMITS.maxResultDepth + ENVELOPE_DEPTH,
  maxQueuedBytes: 64 * 1024 * 1024,
};

/** Why a channel carries nothing more. `ended`: the peer closed it. `closed`: we did. */
export type ChannelClose =
  | { kind: "ended" | "closed" }
  | { kind: "broken"; error: Error }
  | { kind: "violation"; cause: FrameError };

export interface ChannelListener {
  message(frame: Frame): void;
  /** Called once, after every message that came before. */
  closed(close: ChannelClose): void;
}

export interface Channel {
  /**
   * Makes `listener` the one that gets messages, and starts to read. Answers the function that detaches it; without a
   * listener at most one chunk is read. Throws if there is one already.
   */
  attach(listener: ChannelListener): () => void;
  /**
   * Queues one message, given as JSON text, and what is attached to it, which must not change any more. False when the channel is
   * closed or its queue is full: nothing was queued.
   */
  send(json: string, attachment?: Uint8Array): boolean;
  /** Queues one frame that is there already, in pieces. As `send`. */
  sendFrame(pieces: readonly Buffer[]): boolean;
  /** Resolves when the peer has taken enough for more to be sent, or the channel has closed. Never rejects. */
  writable(): Promise<void>;
  /** Bytes read that belong to messages not delivered yet. */
  readonly bufferedBytes: number;
  /** Bytes queued that the peer has not taken yet. */
  readonly queuedBytes: number;
  readonly isClosed: boolean;
  /** Something sent did not reach the peer: it was gone already. */
  readonly hasWriteFailed: boolean;
  /** Destroys both streams. Idempotent. */
  close(): void;
}

/** Makes a channel of what is read from a peer and what is written to it. */
export function createChannel(
  input: Readable,
  output: Writable,
  limits: Partial<ChannelLimits> = {},
): Channel {
  const bounds = { ...DEFAULT_LIMITS, ...limits };
  const reader = createFrameReader(bounds.maxFrameBytes, bounds.maxAttachmentBytes);
  const waiting = new Set<() => void>();
  /** Chunks that came although reading was paused: Node resumes the streams of a process that has exited. */
  const backlog: Buffer[] = [];
  let listener: ChannelListener | null = null;
  let close: ChannelClose | null = null;
  let isTurnDue = false;
  let isDelivering = false;
  let hasWriteFailed = false;

  function shut(reason: ChannelClose): void {
    if (close !== null) return;
    close = reason;
    for (const resolve of waiting) resolve();
    waiting.clear();
    if (reason.kind !== "ended") input.destroy();
    output.destroy();
  }

  /** The next message; null: more bytes are needed, or what came is none and the channel is closed. */
  function takeFrame(): Frame | null {
    try {
      let payload = reader.next();
      for (; payload === null; payload = reader.next()) {
        const chunk = backlog.shift();
        if (chunk === undefined) return null;
        reader.push(chunk);
      }
      const frame = parseFrame(payload, bounds.maxDepth);
      // The reader's memory is used again.
      if (reader.attachment !== null) frame.attachment = Buffer.from(reader.attachment);
      return frame;
    } catch (error) {
      const cause = error instanceof FrameError ? error : new FrameError("malformed", String(error));
      // A peer that has gone meanwhile wrote this before it went: it counts, and nothing after it does.
      if (close === null) shut({ kind: "violation", cause });
      else close = { kind: "violation", cause };
      return null;
    }
  }

  /** Hands out what there is, in turns, and then the close. */
  function pump(): void {
    if (isDelivering) return;
    isDelivering = true;
    let frames = 0;
    let isDone = false;
    try {
      while (listener !== null && frames < MAX_FRAMES_PER_TURN && !isDone) {
        const frame = close?.kind === "closed" || close?.kind === "violation" ? null : takeFrame();
        frames++;
        if (frame === null) isDone = true;
        else listener.message(frame);
      }
    } finally {
      isDelivering = false;
    }
    if (listener === null) return;
    if (!isDone) {
      input.pause();
      if (isTurnDue) return;
      isTurnDue = true;
      setImmediate(() => {
        isTurnDue = false;
        pump();
      });
    } else if (close === null) {
      if (input.isPaused()) input.resume();
    } else {
      const told = listener;
      listener = null;
      told.closed(close);
    }
  }

  input.on("data", (chunk: Buffer) => {
    if (close !== null) return;
    backlog.push(chunk);
    if (listener === null) input.pause();
    else pump();
  });
  input.on("end", () => {
    shut({ kind: "ended" });
    pump();
  });
  input.on("error", (error) => {
    shut({ kind: "broken", error });
    pump();
  });
  input.on("close", () => {
    shut({ kind: "ended" });
    pump();
  });
  // A peer that is gone shows on the reading side, after everything it wrote; the writing side only stops.
  output.on("error", () => {
    hasWriteFailed = true;
    wakeWriters();
  });
  output.on("close", () => wakeWriters());
  output.on("drain", () => wakeWriters());
  input.pause();

  function wakeWriters(): void {
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  return {
    attach(next) {
      if (listener !== null) throw new Error("a channel has one listener at a time");
      listener = next;
      pump();
      return () => {
        if (listener === next) listener = null;
      };
    },
    send(json, attachment) {
      if (close !== null || output.destroyed || output.writableEnded) return false;
      const attachedBytes = attachment?.length ?? 0;
      const frame = encodeFrameText(json, attachedBytes);
      if (output.writableLength + frame.length + attachedBytes > bounds.maxQueuedBytes) return false;
      if (attachedBytes > 0) output.cork();
      output.write(frame);
      if (attachedBytes > 0) {
        output.write(attachment);
        output.uncork();
      }
      return true;
    },
    sendFrame(pieces) {
      if (close !== null || output.destroyed || output.writableEnded) return false;
      const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
      if (output.writableLength + bytes > bounds.maxQueuedBytes) return false;
      output.cork();
      for (const piece of pieces) if (piece.length > 0) output.write(piece);
      output.uncork();
      return true;
    },
    writable() {
      if (close !== null || output.destroyed || !output.writableNeedDrain) return Promise.resolve();
      return new Promise((resolve) => waiting.add(resolve));
    },
    get bufferedBytes() {
      return (
        reader.bufferedBytes + input.readableLength + backlog.reduce((sum, chunk) => sum + chunk.length, 0)
      );
    },
    get queuedBytes() {
      return output.writableLength;
    },
    get isClosed() {
      return close !== null;
    },
    get hasWriteFailed() {
      return hasWriteFailed;
    },
    close() {
      shut({ kind: "closed" });
      pump();
    },
  };
}
