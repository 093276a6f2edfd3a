export const STREAMS = `interface StreamStrategy<T> {
  highWaterMark?: number;
  size?(chunk: T): number;
}
declare class ByteLengthQueuingStrategy {
  constructor(options: { highWaterMark: number });
  readonly highWaterMark: number;
  readonly size: (chunk: ArrayBufferView) => number;
}
declare class CountQueuingStrategy {
  constructor(options: { highWaterMark: number });
  readonly highWaterMark: number;
  readonly size: () => 1;
}
declare class ReadableStreamDefaultController<T = any> {
  readonly desiredSize: number | null;
  enqueue(chunk: T): void;
  close(): void;
  error(reason?: unknown): void;
}
declare class ReadableStreamBYOBRequest {
  readonly view: ArrayBufferView | null;
  respond(bytesWritten: number): void;
  respondWithNewView(view: ArrayBufferView): void;
}
declare class ReadableByteStreamController extends ReadableStreamDefaultController<ArrayBufferView> {
  readonly byobRequest: ReadableStreamBYOBRequest | null;
}
type ReadableStreamReadResult<T> = { done: false; value: T } | { done: true; value: undefined };
declare class ReadableStreamDefaultReader<T = any> {
  constructor(stream: ReadableStream<T>);
  readonly closed: Promise<void>;
  read(): Promise<ReadableStreamReadResult<T>>;
  cancel(reason?: unknown): Promise<void>;
  releaseLock(): void;
}
declare class ReadableStreamBYOBReader {
  constructor(stream: ReadableStream<Uint8Array>);
  readonly closed: Promise<void>;
  read<V extends ArrayBufferView>(view: V): Promise<{ done: boolean; value?: V }>;
  cancel(reason?: unknown): Promise<void>;
  releaseLock(): void;
}
declare class ReadableStream<T = any> {
  constructor(
    source?: {
      type?: "bytes";
      start?(controller: ReadableStreamDefaultController<T>): unknown;
      pull?(controller: ReadableStreamDefaultController<T>): unknown;
      cancel?(reason: unknown): unknown;
    },
    strategy?: StreamStrategy<T>,
  );
  static from<T>(pieces: Iterable<T> | AsyncIterable<T>): ReadableStream<T>;
  readonly locked: boolean;
  cancel(reason?: unknown): Promise<void>;
  getReader(): ReadableStreamDefaultReader<T>;
  getReader(options: { mode: "byob" }): ReadableStreamBYOBReader;
  pipeThrough<U>(pair: { readable: ReadableStream<U>; writable: WritableStream<T> }, options?: { signal?: AbortSignal }): ReadableStream<U>;
  pipeTo(target: WritableStream<T>, options?: { preventClose?: boolean; signal?: AbortSignal }): Promise<void>;
  tee(): [ReadableStream<T>, ReadableStream<T>];
  [Symbol.asyncIterator](): AsyncIterableIterator<T>;
}
declare class WritableStreamDefaultController {
  readonly signal: AbortSignal;
  error(reason?: unknown): void;
}
declare class WritableStreamDefaultWriter<T = any> {
  constructor(stream: WritableStream<T>);
  readonly closed: Promise<void>;
  readonly ready: Promise<void>;
  readonly desiredSize: number | null;
  write(chunk: T): Promise<void>;
  close(): Promise<void>;
  abort(reason?: unknown): Promise<void>;
  releaseLock(): void;
}
declare class WritableStream<T = any> {
  constructor(
    sink?: {
      start?(controller: WritableStreamDefaultController): unknown;
      write?(chunk: T, controller: WritableStreamDefaultController): unknown;
      close?(): unknown;
      abort?(reason: unknown): unknown;
    },
    strategy?: StreamStrategy<T>,
  );
  readonly locked: boolean;
  abort(reason?: unknown): Promise<void>;
  close(): Promise<void>;
  getWriter(): WritableStreamDefaultWriter<T>;
}
declare class TransformStreamDefaultController<O = any> {
  readonly desiredSize: number | null;
  enqueue(chunk: O): void;
  error(reason?: unknown): void;
  terminate(): void;
}
declare class TransformStream<I = any, O = any> {
  constructor(
    transformer?: {
      start?(controller: TransformStreamDefaultController<O>): unknown;
      transform?(chunk: I, controller: TransformStreamDefaultController<O>): unknown;
      flush?(controller: TransformStreamDefaultController<O>): unknown;
    },
    writableStrategy?: StreamStrategy<I>,
    readableStrategy?: StreamStrategy<O>,
  );
  readonly readable: ReadableStream<O>;
  readonly writable: WritableStream<I>;
}
declare class TextEncoderStream {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<string>;
}
declare class TextDecoderStream {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly readable: ReadableStream<string>;
  readonly writable: WritableStream<ArrayBuffer | ArrayBufferView>;
}
`;
