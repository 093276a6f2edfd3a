/**
 * Answers whose bodies stream, behind a hostile child: pieces of every size, bodies that fail, stop or never end. Nothing may be asked
 * for that no one has room for, nor after the end.
 */
import type { OpenStream } from "#sdk";
import type { Prng } from "./prng.ts";

/** What the host holds of a body before it stops asking for more, and how many bodies a run may have open. */
const MAX_HELD_BYTES = 256 * 1024;
const MAX_OPEN_BODIES = 16;
const SIZES = [1, 1_000, 65_536, 300_000, 1_000_000] as const;
const MAX_PIECE_BYTES = 1_000_000;

export interface HostileBodies {
  readonly opened: number;
  /** Bytes that the host may have asked for when `readBytes` of them were handed to the child or wait to be. */
  maxPulledBytes(readBytes: number, waitingReads: number): number;
  readonly pulledBytes: number;
  /** Answers a call, by a body most often. */
  answer(params: unknown, signal: AbortSignal, openStream: OpenStream): Promise<unknown>;
  finish(): void;
}

export function createHostileBodies(prng: Prng, report: (fault: string) => void): HostileBodies {
  const over = Promise.withResolvers<void>();
  let isOver = false;
  let opened = 0;
  const streaming = new Set<AbortSignal>();
  let pulledBytes = 0;

  async function* makeBytes(): AsyncGenerator<Uint8Array> {
    const ending = prng.weighted({ end: 4, failure: 2, silence: 1, none: 1 });
    let left = ending === "none" ? Number.POSITIVE_INFINITY : prng.pick([0, 1, 2, 5, 20]);
    if (prng.chance(0.1)) yield Buffer.alloc(0);
    for (; left > 0; left--) {
      if (isOver) report("after the end: a body was asked for more");
      if (prng.chance(0.2)) await new Promise(setImmediate);
      const size = prng.pick(SIZES);
      pulledBytes += size;
      yield Buffer.alloc(size, "b");
    }
    if (ending === "failure") throw Object.assign(new Error("the body broke off"), { token: "secret" });
    if (ending === "silence") await over.promise;
  }

  return {
    get opened() {
      return opened;
    },
    get pulledBytes() {
      return pulledBytes;
    },
    maxPulledBytes: (readBytes, waitingReads) =>
      readBytes + (opened + waitingReads) * (MAX_HELD_BYTES + MAX_PIECE_BYTES),
    async answer(params, signal, openStream) {
      const stream = prng.chance(0.9) ? openStream() : null;
      if (stream === null) return params;
      opened++;
      streaming.add(signal);
      // The child may open another one as soon as it has canceled this one.
      signal.addEventListener("abort", () => streaming.delete(signal));
      if (streaming.size > MAX_OPEN_BODIES) report(`${streaming.size} bodies stream at once`);
      try {
        if (prng.chance(0.1)) throw new Error("no body after all");
        await stream({ body: { stream: true } }, makeBytes());
        return null;
      } finally {
        streaming.delete(signal);
      }
    },
    finish() {
      isOver = true;
      over.resolve();
    },
  };
}
