/** Passes a body on while all of it, or one event of an endless stream, stays within a limit. */

export interface BodyWatch {
  maxBytes: number;
  per: "body" | "event";
  onEnd(): void;
  onFailure(error: unknown): void;
  tooLarge(): Error;
}

export function watchBody(body: ReadableStream<Uint8Array>, watch: BodyWatch): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const gauge = watch.per === "body" ? countAll() : countSinceBlankLine();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { value, done } = await reader.read();
          if (done) {
            controller.close();
            watch.onEnd();
            return;
          }
          if (gauge(value) > watch.maxBytes) throw watch.tooLarge();
          controller.enqueue(value);
        } catch (error) {
          void reader.cancel(error).catch(() => {});
          controller.error(error);
          watch.onFailure(error);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

type Gauge = (chunk: Uint8Array) => number;

function countAll(): Gauge {
  let total = 0;
  return (chunk) => {
    total += chunk.byteLength;
    return total;
  };
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** Returns the size of the largest event that touches the chunk. Events end with an empty line. */
function countSinceBlankLine(): Gauge {
  let bytes = 0;
  let atLineStart = false;
  let afterReturn = false;
  return (chunk) => {
    let largest = bytes;
    for (const byte of chunk) {
      bytes += 1;
      if (byte === LINE_FEED && afterReturn) {
        afterReturn = false;
        continue;
      }
      afterReturn = byte === CARRIAGE_RETURN;
      if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) {
        atLineStart = false;
        continue;
      }
      if (bytes > largest) largest = bytes;
      if (atLineStart) bytes = 0;
      atLineStart = true;
    }
    return Math.max(largest, bytes);
  };
}
