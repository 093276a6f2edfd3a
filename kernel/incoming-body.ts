import { setTimeout as sleep } from "node:timers/promises";
import type { OpenStream } from "#sdk";

/** Scripts receive larger bodies as a file or a stream. */
export const MAX_INLINE_BYTES = 1024 * 1024;
/** A body that ends within this time is passed inline. */
const STREAM_AFTER_MS = 250;

export interface IncomingBody {
  readonly size: number;
  /**
   * Reads until the body ends, exceeds `maxBytes`, or a non-null `maxMs` has passed. Returns true if the body has
   * ended.
   */
  take(maxBytes: number, maxMs: number | null): Promise<boolean>;
  bytes(): Buffer<ArrayBuffer>;
  /** Yields the complete body, beginning with the bytes that `take` has read. */
  stream(): AsyncGenerator<Uint8Array>;
  /** Closes the connection unless the body has ended. Idempotent. */
  close(): void;
}

export function openBody(response: Response): IncomingBody {
  const reader = (response.body ?? new Blob().stream()).getReader();
  const taken: Uint8Array[] = [];
  let size = 0;
  let reading: ReturnType<typeof reader.read> | null = null;

  function read(): ReturnType<typeof reader.read> {
    if (reading === null) {
      reading = reader.read();
      // The read may fail before anyone awaits it.
      reading.catch(() => {});
    }
    return reading;
  }

  const close = () => void reader.cancel().catch(() => {});

  return {
    get size() {
      return size;
    },
    async take(maxBytes, maxMs) {
      const late = maxMs === null ? [] : [sleep(maxMs, null, { ref: false })];
      while (size <= maxBytes) {
        const came = await Promise.race([read(), ...late]);
        if (came === null) return false;
        if (came.done) return true;
        reading = null;
        taken.push(came.value);
        size += came.value.byteLength;
      }
      return false;
    },
    bytes: () => Buffer.concat(taken, size),
    async *stream() {
      try {
        yield* taken.splice(0);
        for (;;) {
          const { done, value } = await read();
          if (done) return;
          reading = null;
          yield value;
        }
      } finally {
        close();
      }
    },
    close,
  };
}

/**
 * Begins to read the response to a script's `fetch`. Reads the body completely if there is no `stream`, or if its
 * length is known and allowed: a replayed run then gets it again however late it reads, unlike a stream.
 */
export async function beginBody(
  response: Response,
  openStream: OpenStream | undefined,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<{ body: IncomingBody; isWhole: boolean; isEventStream: boolean; stream: ReturnType<OpenStream> }> {
  const body = openBody(response);
  const isEventStream = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
  const length = Number(response.headers.get("content-length") ?? Number.NaN);
  const isEndless = isEventStream || length > maxBytes;
  const isBounded = !isEndless && length <= maxBytes;
  const maxInline = Math.min(maxBytes, MAX_INLINE_BYTES);
  const maxMs = isEndless ? 0 : isBounded || openStream === undefined ? null : STREAM_AFTER_MS;
  const isWhole = await body.take(maxInline, maxMs);
  const isLate = maxMs !== null && body.size <= maxInline;
  const stream = !isWhole && (isEndless || isLate) ? (openStream?.() ?? null) : null;
  return { body, isWhole, isEventStream, stream };
}
