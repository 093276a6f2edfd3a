/** The Streams standard by web-streams-polyfill, and helpers for bodies. Loaded when the first stream is created. */
import * as library from "web-streams-polyfill";
import { finishClass, showAs } from "./interfaces.ts";

/** Private members of the library, which the bundler does not rename. */
interface Internals {
  _disturbed: boolean;
  _state: string;
  _readableStreamController: { error(reason: unknown): void };
}
type Stream = ReadableStream<Uint8Array>;
type Pieces = Iterator<Uint8Array> | AsyncIterator<Uint8Array>;

const ReadableStream = library.ReadableStream as unknown as typeof globalThis.ReadableStream;
const TransformStream = library.TransformStream as unknown as typeof globalThis.TransformStream;
const { get: getLocked } = Object.getOwnPropertyDescriptor(ReadableStream.prototype, "locked") as {
  get(): boolean;
};

const inside = (stream: object) => stream as unknown as Internals;
const isLocked = (stream: object): boolean => Reflect.apply(getLocked, stream, []);
const isReadable = (value: unknown): value is Stream =>
  value instanceof ReadableStream && "_readableStreamController" in value;

/** Creates a stream that pulls one piece per read. The reader owns each piece. */
function streamOf(pieces: Pieces): Stream {
  const source: UnderlyingByteSource = {
    type: "bytes",
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done !== true) return controller.enqueue(value as Uint8Array<ArrayBuffer>);
      controller.close();
      controller.byobRequest?.respond(0);
    },
    async cancel() {
      await pieces.return?.(undefined);
    },
  };
  return new ReadableStream(source as never) as Stream;
}

/** Yields the chunks and checks each. Cancels the stream when the caller stops or a chunk is invalid. */
async function* readChunks(stream: Stream): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        isOver = true;
        throw error;
      });
      isOver = done;
      if (done) return;
      if (!(value instanceof Uint8Array)) {
        throw new TypeError("The stream of a body must have chunks of type Uint8Array.");
      }
      yield value;
    }
  } finally {
    if (!isOver) reader.cancel().catch(() => {});
  }
}

/** Tees a stream and copies the chunks, so that one reader cannot change the other's. */
function fork(stream: Stream): [Stream, Stream] {
  const [first, second] = stream.tee();
  const copy = new TransformStream<Uint8Array, Uint8Array>(
    {
      transform: (chunk, controller) => controller.enqueue(copyChunk(chunk)),
    },
    { highWaterMark: 1 },
    { highWaterMark: 0 },
  );
  return [first, second.pipeThrough(copy) as Stream];
}

/** Replaces `structuredClone`, which here cannot clone a view of part of a buffer. */
function copyChunk<T>(chunk: T): T {
  if (chunk instanceof ArrayBuffer) return chunk.slice(0) as T;
  if (!ArrayBuffer.isView(chunk)) return structuredClone(chunk);
  const {
    constructor,
    buffer,
    byteOffset,
    byteLength,
    length = byteLength,
  } = chunk as ArrayBufferView & { length?: number };
  return Reflect.construct(constructor, [buffer.slice(0), byteOffset, length]) as T;
}

/** Creates the closed and locked stream of a body that was read. */
function createSpent(): Stream {
  const stream = new ReadableStream({ start: (controller) => controller.close() });
  stream.getReader();
  return stream as Stream;
}

class TextEncoderStream {
  readonly #pair: TransformStream<string, Uint8Array>;

  constructor() {
    const encoder = new TextEncoder();
    /** A high surrogate whose other half comes with the next chunk. */
    let half = "";
    this.#pair = new TransformStream<string, Uint8Array>({
      transform(chunk, controller) {
        let text = `${half}${chunk}`;
        const last = text.charCodeAt(text.length - 1);
        half = last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : "";
        text = text.slice(0, text.length - half.length);
        if (text !== "") controller.enqueue(encoder.encode(text));
      },
      flush(controller) {
        if (half !== "") controller.enqueue(encoder.encode("\ufffd"));
      },
    });
  }

  get encoding(): string {
    void this.#pair;
    return "utf-8";
  }

  get readable() {
    return this.#pair.readable;
  }

  get writable() {
    return this.#pair.writable;
  }
}

class TextDecoderStream {
  readonly #decoder: TextDecoder;
  readonly #pair: TransformStream<BufferSource, string>;

  constructor(label = "utf-8", options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    const decoder = new TextDecoder(label, options);
    this.#decoder = decoder;
    this.#pair = new TransformStream<BufferSource, string>({
      transform(chunk, controller) {
        const text = decoder.decode(chunk as Uint8Array, { stream: true });
        if (text !== "") controller.enqueue(text);
      },
      flush(controller) {
        const text = decoder.decode();
        if (text !== "") controller.enqueue(text);
      },
    });
  }

  get encoding(): string {
    return this.#decoder.encoding;
  }

  get fatal(): boolean {
    return this.#decoder.fatal;
  }

  get ignoreBOM(): boolean {
    return this.#decoder.ignoreBOM;
  }

  get readable() {
    return this.#pair.readable;
  }

  get writable() {
    return this.#pair.writable;
  }
}

finishClass(TextEncoderStream, "TextEncoderStream");
finishClass(TextDecoderStream, "TextDecoderStream");
for (const [name, value] of Object.entries(library)) {
  // The bundler shortens names.
  if (typeof value === "function") Object.defineProperty(value, "name", { value: name, configurable: true });
}
showAs(ReadableStream, "ReadableStream", (stream) => ({
  locked: isLocked(stream),
  state: inside(stream)._state,
  supportsBYOB: inside(stream)._readableStreamController instanceof library.ReadableByteStreamController,
}));
showAs(library.WritableStream, "WritableStream", (stream) => ({
  locked: stream.locked,
  state: inside(stream)._state,
}));
showAs(library.TransformStream, "TransformStream", ({ readable, writable }) => ({ readable, writable }));

export const streams = {
  globals: { ...library, TextEncoderStream, TextDecoderStream } as Record<string, object>,
  isReadable,
  isLocked,
  isDisturbed: (stream: object): boolean => inside(stream)._disturbed,
  /** Makes reads reject with `reason`. Does nothing to a closed stream. */
  fail: (stream: object, reason: unknown) => inside(stream)._readableStreamController.error(reason),
  from: (pieces: AsyncIterable<unknown> | Iterable<unknown>) =>
    (ReadableStream as unknown as { from(pieces: unknown): Stream }).from(pieces),
  /** Locks `stream` and returns a new stream of its chunks. */
  passOn: (stream: Stream): Stream =>
    stream.pipeThrough(new TransformStream<Uint8Array, Uint8Array>()) as Stream,
  streamOf,
  readChunks,
  fork,
  createSpent,
};
