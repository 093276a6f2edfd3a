/**
 * Messages over a pair of byte streams, with limits, back-pressure and one listener at a time. Knows frames but not
 * their meaning, and no process. Nothing that a peer sends makes it throw or buffer more than one frame and one
 * chunk.
 */
import type { Readable, Writable } from "node:stream";
import { createFrameReader, encodeFrameText, type Frame, FrameError, parseFrame } from "./frames.ts";
import { ENVELOPE_DEPTH, PROTOCOL_LIMITS } from "./protocol.ts";

/** Frames handled before other connections get a turn, so that a flood of tiny frames does not block the server. */
const MAX_FRAMES_PER_TURN = 128;

export interface ChannelLimits {
  maxFrameBytes: number;
  maxAttachmentBytes: number;
  maxDepth: number;
  /** Limit for bytes that wait for a peer that does not read. Beyond it, `send` returns false. */
  maxQueuedBytes: number;
}

const DEFAULT_LIMITS: ChannelLimits = {
  maxFrameBytes: PROTOCOL_LIMITS.maxEndBytes,
  maxAttachmentBytes: PROTOCOL_LIMITS.maxFilePieceBytes,
  maxDepth: PROTOCOL_LIMITS.maxResultDepth + ENVELOPE_DEPTH,
  maxQueuedBytes: 64 * 1024 * 1024,
};

/** Why a channel closed: the peer ended it (`ended`), or we closed it (`closed`). */
export type ChannelClose =
  | { kind: "ended" | "closed" }
  | { kind: "broken"; error: Error }
  | { kind: "violation"; cause: FrameError };

export interface ChannelListener {
  message(frame: Frame): void;
  /** Called once, after the last message. */
  closed(close: ChannelClose): void;
}

export interface Channel {
  /**
   * Starts reading for `listener` and returns a function that detaches it. Without a listener, at most one chunk is
   * read.
   */
  attach(listener: ChannelListener): () => void;
  /**
   * Queues a message, given as JSON text, with its attachment, which must not change afterwards. Returns false and
   * queues nothing if the channel is closed or its queue is full.
   */
  send(json: string, attachment?: Uint8Array): boolean;
  /** Queues an encoded frame, in pieces. Returns like `send`. */
  sendFrame(pieces: readonly Buffer[]): boolean;
  /** Resolves when the peer has read enough that more can be sent, or the channel has closed. Never rejects. */
  writable(): Promise<void>;
  /** Bytes of messages that were read but not delivered. */
  readonly bufferedBytes: number;
  readonly queuedBytes: number;
  readonly isClosed: boolean;
  /** True if a sent message did not reach the peer, which was already gone. */
  readonly hasWriteFailed: boolean;
  close(): void;
}

export function createChannel(
  input: Readable,
  output: Writable,
  limits: Partial<ChannelLimits> = {},
): Channel {
  return new StreamChannel(input, output, { ...DEFAULT_LIMITS, ...limits });
}

class StreamChannel implements Channel {
  hasWriteFailed = false;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #limits: ChannelLimits;
  readonly #reader: ReturnType<typeof createFrameReader>;
  readonly #waiting = new Set<() => void>();
  /** Chunks that arrived although reading was paused: Node resumes the streams of a process that has exited. */
  readonly #backlog: Buffer[] = [];
  #listener: ChannelListener | null = null;
  #close: ChannelClose | null = null;
  #isTurnDue = false;
  #isDelivering = false;

  constructor(input: Readable, output: Writable, limits: ChannelLimits) {
    this.#input = input;
    this.#output = output;
    this.#limits = limits;
    this.#reader = createFrameReader(limits.maxFrameBytes, limits.maxAttachmentBytes);
    input.on("data", (chunk: Buffer) => {
      if (this.#close !== null) return;
      this.#backlog.push(chunk);
      if (this.#listener === null) input.pause();
      else this.#pump();
    });
    input.on("end", () => this.#shut({ kind: "ended" }));
    input.on("error", (error) => this.#shut({ kind: "broken", error }));
    input.on("close", () => this.#shut({ kind: "ended" }));
    // The reading side reports that the peer is gone, after everything it wrote. The writing side only stops.
    output.on("error", () => {
      this.hasWriteFailed = true;
      this.#wakeWriters();
    });
    output.on("close", () => this.#wakeWriters());
    output.on("drain", () => this.#wakeWriters());
    input.pause();
  }

  get isClosed(): boolean {
    return this.#close !== null;
  }

  get queuedBytes(): number {
    return this.#output.writableLength;
  }

  get bufferedBytes(): number {
    const backlog = this.#backlog.reduce((sum, { length }) => sum + length, 0);
    return this.#reader.bufferedBytes + this.#input.readableLength + backlog;
  }

  attach(listener: ChannelListener): () => void {
    if (this.#listener !== null) throw new Error("A channel has one listener at a time.");
    this.#listener = listener;
    this.#pump();
    return () => {
      if (this.#listener === listener) this.#listener = null;
    };
  }

  send(json: string, attachment?: Uint8Array): boolean {
    const output = this.#output;
    if (this.#close !== null || output.destroyed || output.writableEnded) return false;
    const attachedBytes = attachment?.length ?? 0;
    const frame = encodeFrameText(json, attachedBytes);
    if (output.writableLength + frame.length + attachedBytes > this.#limits.maxQueuedBytes) return false;
    if (attachedBytes > 0) output.cork();
    output.write(frame);
    if (attachedBytes > 0) {
      output.write(attachment);
      output.uncork();
    }
    return true;
  }

  sendFrame(pieces: readonly Buffer[]): boolean {
    const output = this.#output;
    if (this.#close !== null || output.destroyed || output.writableEnded) return false;
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
    if (output.writableLength + bytes > this.#limits.maxQueuedBytes) return false;
    output.cork();
    for (const piece of pieces) if (piece.length > 0) output.write(piece);
    output.uncork();
    return true;
  }

  writable(): Promise<void> {
    const output = this.#output;
    if (this.#close !== null || output.destroyed || !output.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  close(): void {
    this.#shut({ kind: "closed" });
  }

  #wakeWriters(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #shut(reason: ChannelClose): void {
    this.#setClose(reason);
    this.#pump();
  }

  #setClose(reason: ChannelClose): void {
    if (this.#close !== null) return;
    this.#close = reason;
    this.#wakeWriters();
    if (reason.kind !== "ended") this.#input.destroy();
    this.#output.destroy();
  }

  /**
   * Returns the next message. Returns null if more bytes are needed, or if they were malformed, which closes the
   * channel.
   */
  #takeFrame(): Frame | null {
    const reader = this.#reader;
    try {
      let payload = reader.next();
      for (; payload === null; payload = reader.next()) {
        const chunk = this.#backlog.shift();
        if (chunk === undefined) return null;
        reader.push(chunk);
      }
      const frame = parseFrame(payload, this.#limits.maxDepth);
      // Copied because the reader reuses its memory.
      if (reader.attachment !== null) frame.attachment = Buffer.from(reader.attachment);
      return frame;
    } catch (error) {
      const cause = error instanceof FrameError ? error : new FrameError("malformed", String(error));
      // If the peer is gone, it wrote this earlier, so this violation counts and nothing after it does.
      if (this.#close === null) this.#setClose({ kind: "violation", cause });
      else this.#close = { kind: "violation", cause };
      return null;
    }
  }

  /** Delivers the buffered messages, in turns, and then the close. */
  #pump(): void {
    if (this.#isDelivering) return;
    const isDone = this.#deliver();
    const listener = this.#listener;
    if (listener === null) return;
    if (!isDone) {
      this.#input.pause();
      if (this.#isTurnDue) return;
      this.#isTurnDue = true;
      setImmediate(() => {
        this.#isTurnDue = false;
        this.#pump();
      });
    } else if (this.#close === null) {
      if (this.#input.isPaused()) this.#input.resume();
    } else {
      this.#listener = null;
      listener.closed(this.#close);
    }
  }

  #deliver(): boolean {
    this.#isDelivering = true;
    try {
      for (let frames = 0; this.#listener !== null && frames < MAX_FRAMES_PER_TURN; frames++) {
        const { kind } = this.#close ?? {};
        const frame = kind === "closed" || kind === "violation" ? null : this.#takeFrame();
        if (frame === null) return true;
        this.#listener.message(frame);
      }
      return false;
    } finally {
      this.#isDelivering = false;
    }
  }
}
