import { openBody } from "#kernel/incoming-body.ts";

export interface CallLimits {
  timeoutMs: number;
  signals: readonly (AbortSignal | undefined)[];
  onTimeout(): Error;
  onCancel(): Error;
}

export interface Timer {
  restart(): void;
  stop(): void;
}

/** Applies the time limit to the wait for each piece. */
export async function* limitWaits<T>(pieces: AsyncIterable<T>, timer: Timer): AsyncGenerator<T> {
  timer.restart();
  for await (const piece of pieces) {
    timer.stop();
    yield piece;
    timer.restart();
  }
}

/**
 * Runs `work` with a signal that aborts when the time is up or one of `signals` aborts; then it rejects with that
 * reason, even if `work` throws another error. (`AbortSignal.timeout` and `any` are not used because their signals
 * would outlive each call.)
 */
export async function withLimits<T>(
  { timeoutMs, signals, onTimeout, onCancel }: CallLimits,
  work: (signal: AbortSignal, timer: Timer) => Promise<T>,
): Promise<T> {
  const ends = new AbortController();
  const cancel = () => ends.abort(onCancel());
  const start = () => setTimeout(() => ends.abort(onTimeout()), timeoutMs);
  let timer = start();
  const stop = () => clearTimeout(timer);
  let isOver = false;
  const restart = () => {
    stop();
    if (!isOver) timer = start();
  };
  try {
    for (const signal of signals) {
      if (signal?.aborted) cancel();
      signal?.addEventListener("abort", cancel, { once: true });
    }
    ends.signal.throwIfAborted();
    return await work(ends.signal, { restart, stop });
  } catch (error) {
    throw ends.signal.aborted ? ends.signal.reason : error;
  } finally {
    isOver = true;
    stop();
    for (const signal of signals) signal?.removeEventListener("abort", cancel);
  }
}

/**
 * Settles as `promise` does, unless the signal aborts first. The work behind `promise` continues for other callers.
 */
export async function orAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  reasonOf: (signal: AbortSignal) => unknown = ({ reason }) => reason,
): Promise<T> {
  if (signal === undefined) return promise;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(reasonOf(signal));
  if (signal.aborted) giveUp();
  signal.addEventListener("abort", giveUp, { once: true });
  promise.catch(() => {});
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

/**
 * Returns the beginning of a body, within limits of time and size, and closes its connection. `isWhole` is true if
 * the body ended by itself.
 */
export async function readFor(
  response: Response,
  maxMs: number,
  maxBytes: number,
): Promise<{ bytes: Buffer<ArrayBuffer>; isWhole: boolean }> {
  const body = openBody(response);
  try {
    const isWhole = await body.take(maxBytes, maxMs);
    return { bytes: body.bytes().subarray(0, maxBytes), isWhole };
  } finally {
    body.close();
  }
}

/** Counts bytes after decompression as they arrive, and closes the connection when they exceed the limit. */
export async function readBytes(
  response: Response,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the stream, which ends the connection.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}
