/** The child's two pipes: what it sends, as fast as the host takes it, and what it does with what the host sends. */
import { Readable, Writable } from "node:stream";
import type { Conversation } from "./conversation.ts";

const PIPE_BYTES = 64 * 1024;

export interface Sent {
  stream: Readable;
  /** Chunks the host has taken so far. */
  readonly taken: number;
  /** The child has said all it has to say. */
  readonly isDone: boolean;
}

/** A pipe is read, never pushed: what the host does not take stays with the child. */
export function createSent(
  chunks: Buffer[],
  pace: Conversation["pace"],
  leave: (stream: Readable) => void,
): Sent {
  let taken = 0;
  let hasLeft = false;
  const later =
    pace === "sync" ? (go: () => void) => go() : pace === "microtask" ? queueMicrotask : setImmediate;
  const stream = new Readable({
    highWaterMark: PIPE_BYTES,
    read() {
      later(() => {
        if (stream.destroyed || hasLeft) return;
        const chunk = chunks[taken];
        if (chunk !== undefined) {
          taken++;
          stream.push(chunk);
          return;
        }
        hasLeft = true;
        leave(stream);
      });
    },
  });
  return {
    stream,
    get taken() {
      return taken;
    },
    get isDone() {
      return hasLeft;
    },
  };
}

export interface Received {
  stream: Writable;
  /** Complete messages of the host, as text; empty while the child does not read. */
  readonly messages: string[];
  readonly faults: string[];
}

const MAX_KEPT_MESSAGES = 10_000;
const BREAKS_AFTER_WRITES = 2;

export function createReceived(reading: Conversation["reading"]): Received {
  const messages: string[] = [];
  const faults: string[] = [];
  let rest: Buffer = Buffer.alloc(0);
  let writes = 0;

  function take(chunk: Buffer): void {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= 8) {
      const hasAttachment = rest.readUInt32BE(0) >= 2 ** 31;
      const start = hasAttachment ? 8 : 4;
      const end = start + (rest.readUInt32BE(0) % 2 ** 31);
      const next = end + (hasAttachment ? rest.readUInt32BE(4) : 0);
      if (rest.length < next) return;
      if (messages.length < MAX_KEPT_MESSAGES) messages.push(rest.toString("utf8", start, end));
      rest = rest.subarray(next);
    }
  }

  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (reading === "breaks" && ++writes > BREAKS_AFTER_WRITES) {
        done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
        return;
      }
      take(chunk);
      if (reading === "slow") setImmediate(done);
      else if (reading !== "never") done();
    },
  });
  return { stream, messages, faults };
}
