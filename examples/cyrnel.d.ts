// What a script calls: the tools of installed services, and cyrnel. Made from their definitions.

interface CyrnelServiceSummary {
  id: string;
  name: string;
  description: string;
}
interface CyrnelToolSummary {
  serviceId: string;
  id: string;
  /** `service.tool`. */
  path: string;
  name: string;
  description: string;
  score?: number;
}
/** `packages`: npm packages that fit and can be imported. */
type CyrnelFoundTools = CyrnelToolSummary[] & {
  readonly packages: { name: string; version: string; description: string }[];
};
interface CyrnelToolDetails extends CyrnelToolSummary {
  destructive: boolean;
  inputSchema: Record<string, unknown>;
  outputSchema: Record<string, unknown>;
}
interface CyrnelUntypedTools {
  [tool: string]: CyrnelUntypedTools &
    ((parameters?: Record<string, unknown>, options?: Partial<CyrnelSaving & CyrnelAnswering>) => Promise<unknown>);
}
/** The answer becomes this file of the workspace. */
interface CyrnelSaving {
  saveAs: string;
}
/** An answer that says it failed, such as HTTP 404, is given like any other. */
interface CyrnelAnswering {
  throwOnError: false;
}
/** In place of what was saved; `size` in bytes, `contentType` as its sender says. */
interface CyrnelSavedFile {
  file: string;
  size: number;
  contentType: string;
}
/** The file stands in place of the answer, or of its `body` where it has one. */
type CyrnelSaved<Answer> = Answer extends { body?: unknown }
  ? Omit<Answer, "body"> & { body: CyrnelSavedFile }
  : CyrnelSavedFile;
type CyrnelCallable<Tools> = {
  readonly [Tool in keyof Tools]: Tools[Tool] &
    CyrnelCallable<Tools[Tool]> &
    (Tools[Tool] extends (parameters: infer Parameters) => Promise<infer Answer>
      ? ((parameters: Parameters, options: CyrnelSaving) => Promise<CyrnelSaved<Answer>>) &
          ((parameters: Parameters, options: CyrnelAnswering & Partial<CyrnelSaving>) => Promise<any>)
      : unknown);
};
/** A file of the workspace; `size` in bytes. */
interface CyrnelFile {
  readonly name: string;
  readonly size: number;
  readonly contentType: string;
}
interface CyrnelFiles {
  read(name: string, range?: { offset?: number; length?: number }): Promise<Uint8Array>;
  text(name: string): Promise<string>;
  json(name: string): Promise<any>;
  lines(name: string): AsyncGenerator<string, void, void>;
  list(prefix?: string): Promise<CyrnelFile[]>;
  stat(name: string): Promise<CyrnelFile>;
  exists(name: string): Promise<boolean>;
  /** Text, bytes and a Blob as they are, streams and other async iterables piece by piece, anything else as JSON. */
  write(name: string, data: unknown): Promise<CyrnelFile>;
  append(name: string, data: unknown): Promise<CyrnelFile>;
  remove(name: string): Promise<void>;
}
type CyrnelInvocable<Tools> = {
  readonly [Tool in keyof Tools]: CyrnelInvocable<Tools[Tool]> &
    (Tools[Tool] extends (parameters: never) => unknown ? { readonly invoke: CyrnelCallable<Tools>[Tool] } : unknown);
};

interface CyrnelServices {
  readonly [service: string]: { readonly tools: CyrnelInvocable<CyrnelUntypedTools> };
}

interface CyrnelTools {
  readonly [service: string]: CyrnelUntypedTools;
}

declare const cyrnel: {
  /** `cyrnel.services.<service>.tools.<tool>.invoke(parameters)`. */
  readonly services: CyrnelServices;
  /** Merges `value` into the output of the process; later keys win. */
  output(value: object): void;
  discoverServices(query?: { query?: string; limit?: number }): Promise<CyrnelServiceSummary[]>;
  discoverTools(query?: { query?: string; serviceId?: string; limit?: number }): Promise<CyrnelFoundTools>;
  getService(
    id: string,
  ): Promise<CyrnelServiceSummary & { tools: { id: string; name: string; description: string }[] }>;
  getTool(tool: { serviceId: string; toolId: string }): Promise<CyrnelToolDetails>;
  /** Markdown. */
  getToolDocs(tool: { serviceId: string; toolId: string }): Promise<string>;
  /** Asks a person; resolves with the answer. */
  ask(request: { message: string; schema?: object }): Promise<unknown>;
  readonly process: { readonly id: number; readonly ref: string | null };
  /** What the process was given as `input`: JSON data, frozen; undefined without one. */
  readonly input: CyrnelInput;
  /** The workspace: files the run was given, and those it writes, which become its artifacts. */
  readonly files: CyrnelFiles;
};
type CyrnelInput = any;

/** The same tools with less to write: `tools.<service>.<tool>(parameters)`. Cannot be enumerated. */
declare const tools: CyrnelTools & {
  search(query: string | { query?: string; serviceId?: string; limit?: number }): Promise<CyrnelFoundTools>;
  describe: { tool(tool: { path: string }): Promise<CyrnelToolDetails> };
};

/** log, info and debug go to stdout; warn, error and trace to stderr; formatted as Node's console does. */
declare const console: {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  trace(...values: unknown[]): void;
  dir(value: unknown, options?: object): void;
  table(rows: unknown, columns?: string[]): void;
  assert(condition: unknown, ...values: unknown[]): void;
  group(...values: unknown[]): void;
  groupCollapsed(...values: unknown[]): void;
  groupEnd(): void;
  count(label?: string): void;
  countReset(label?: string): void;
  time(label?: string): void;
  timeLog(label?: string, ...values: unknown[]): void;
  timeEnd(label?: string): void;
};

declare function setTimeout<A extends unknown[]>(callback: (...args: A) => void, ms?: number, ...args: A): number;
declare function setInterval<A extends unknown[]>(callback: (...args: A) => void, ms?: number, ...args: A): number;
declare function setImmediate<A extends unknown[]>(callback: (...args: A) => void, ...args: A): number;
declare function clearTimeout(timer: number | undefined): void;
declare function clearInterval(timer: number | undefined): void;
declare function clearImmediate(timer: number | undefined): void;
declare function queueMicrotask(callback: () => void): void;
declare function structuredClone<T>(value: T): T;
declare function atob(text: string): string;
declare function btoa(text: string): string;
/** Only what rules of installed http services allow; the error of any other request names those rules. */
declare function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;

declare const performance: { now(): number };

declare const crypto: {
  randomUUID(): string;
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  readonly subtle: {
    digest(algorithm: "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512", data: ArrayBuffer | ArrayBufferView): Promise<ArrayBuffer>;
    /** HMAC alone: keys of other kinds belong to services. */
    importKey(format: "raw", data: ArrayBuffer | ArrayBufferView, algorithm: HmacAlgorithm, extractable: boolean, usages: ("sign" | "verify")[]): Promise<CryptoKey>;
    importKey(format: "jwk", key: SecretJwk, algorithm: HmacAlgorithm, extractable: boolean, usages: ("sign" | "verify")[]): Promise<CryptoKey>;
    generateKey(algorithm: HmacAlgorithm, extractable: boolean, usages: ("sign" | "verify")[]): Promise<CryptoKey>;
    exportKey(format: "raw", key: CryptoKey): Promise<ArrayBuffer>;
    exportKey(format: "jwk", key: CryptoKey): Promise<SecretJwk>;
    sign(algorithm: "HMAC" | { name: "HMAC" }, key: CryptoKey, data: ArrayBuffer | ArrayBufferView): Promise<ArrayBuffer>;
    verify(algorithm: "HMAC" | { name: "HMAC" }, key: CryptoKey, signature: ArrayBuffer | ArrayBufferView, data: ArrayBuffer | ArrayBufferView): Promise<boolean>;
  };
};
type HmacAlgorithm = { name: "HMAC"; hash: HmacHash | { name: HmacHash }; length?: number };
type HmacHash = "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512";
type SecretJwk = { kty?: string; k?: string; alg?: string; use?: string; key_ops?: string[]; ext?: boolean };
declare class CryptoKey {
  private constructor();
  readonly type: "secret";
  readonly extractable: boolean;
  readonly algorithm: object;
  readonly usages: readonly string[];
}

declare class Event {
  constructor(type: string, options?: { bubbles?: boolean; cancelable?: boolean });
  readonly type: string;
  readonly target: EventTarget | null;
  readonly currentTarget: EventTarget | null;
  readonly bubbles: boolean;
  readonly cancelable: boolean;
  readonly defaultPrevented: boolean;
  readonly timeStamp: number;
  preventDefault(): void;
  stopPropagation(): void;
  stopImmediatePropagation(): void;
}
declare class CustomEvent<T = any> extends Event {
  constructor(type: string, options?: { bubbles?: boolean; cancelable?: boolean; detail?: T });
  readonly detail: T;
}
type EventListener = ((event: any) => unknown) | { handleEvent(event: any): unknown };
declare class EventTarget {
  addEventListener(type: string, listener: EventListener | null, options?: boolean | { once?: boolean; capture?: boolean; signal?: AbortSignal }): void;
  removeEventListener(type: string, listener: EventListener | null, options?: boolean | { capture?: boolean }): void;
  dispatchEvent(event: Event): boolean;
}

declare class DOMException extends Error {
  constructor(message?: string, name?: string);
  readonly code: number;
}
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
declare class AbortSignal extends EventTarget {
  static abort(reason?: unknown): AbortSignal;
  static any(signals: AbortSignal[]): AbortSignal;
  static timeout(ms: number): AbortSignal;
  readonly aborted: boolean;
  readonly reason: any;
  onabort: ((event: Event) => void) | null;
  throwIfAborted(): void;
}

declare class TextEncoder {
  readonly encoding: "utf-8";
  encode(text?: string): Uint8Array<ArrayBuffer>;
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  decode(data?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}

interface NamedValues<V> extends Iterable<[string, V]> {
  forEach(callback: (value: V, name: string, all: this) => void): void;
  entries(): IterableIterator<[string, V]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<V>;
}
interface URLSearchParams extends NamedValues<string> {}
declare class URLSearchParams {
  constructor(init?: string | Record<string, string> | Iterable<readonly [string, string]>);
  append(name: string, value: string): void;
  delete(name: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  toString(): string;
}
declare class URL {
  constructor(url: string, base?: string | URL);
  static canParse(url: string, base?: string): boolean;
  readonly origin: string;
  readonly searchParams: URLSearchParams;
  href: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  toString(): string;
  toJSON(): string;
}

type HeadersInit = Headers | Record<string, string> | Iterable<readonly [string, string]>;
interface Headers extends NamedValues<string> {}
declare class Headers {
  constructor(init?: HeadersInit);
  append(name: string, value: string): void;
  delete(name: string): void;
  get(name: string): string | null;
  getSetCookie(): string[];
  has(name: string): boolean;
  set(name: string, value: string): void;
}

type BodyInit = string | ArrayBuffer | ArrayBufferView | Blob | FormData | URLSearchParams | ReadableStream<Uint8Array>;
/** Of Request and Response; a body can be read once. */
interface Body {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  formData(): Promise<FormData>;
  json(): Promise<any>;
  text(): Promise<string>;
}
interface RequestInit {
  method?: string;
  /** Not Authorization, Cookie and what belongs to the connection: a service adds its credentials. */
  headers?: HeadersInit;
  body?: BodyInit | null;
  /** "half", with a stream as the body. */
  duplex?: "half";
  redirect?: "follow" | "error" | "manual";
  signal?: AbortSignal | null;
}
interface Request extends Body {}
declare class Request {
  constructor(input: string | URL | Request, init?: RequestInit);
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly redirect: "follow" | "error" | "manual";
  readonly signal: AbortSignal;
  clone(): Request;
}
interface ResponseInit {
  status?: number;
  statusText?: string;
  headers?: HeadersInit;
}
interface Response extends Body {}
declare class Response {
  constructor(body?: BodyInit | null, init?: ResponseInit);
  static error(): Response;
  static json(data: unknown, init?: ResponseInit): Response;
  static redirect(url: string | URL, status?: number): Response;
  readonly status: number;
  readonly ok: boolean;
  readonly statusText: string;
  readonly headers: Headers;
  readonly url: string;
  readonly redirected: boolean;
  readonly type: string;
  clone(): Response;
}

declare class Blob {
  constructor(parts?: Iterable<string | ArrayBuffer | ArrayBufferView | Blob>, options?: { type?: string; endings?: "transparent" | "native" });
  readonly size: number;
  readonly type: string;
  arrayBuffer(): Promise<ArrayBuffer>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  slice(start?: number, end?: number, type?: string): Blob;
  stream(): ReadableStream<Uint8Array<ArrayBuffer>>;
  text(): Promise<string>;
}
declare class File extends Blob {
  constructor(parts: Iterable<string | ArrayBuffer | ArrayBufferView | Blob>, name: string, options?: { type?: string; lastModified?: number });
  readonly name: string;
  readonly lastModified: number;
}
type FormDataValue = string | File;
interface FormData extends NamedValues<FormDataValue> {}
declare class FormData {
  append(name: string, value: string | Blob, filename?: string): void;
  delete(name: string): void;
  get(name: string): FormDataValue | null;
  getAll(name: string): FormDataValue[];
  has(name: string): boolean;
  set(name: string, value: string | Blob, filename?: string): void;
}

interface StreamStrategy<T> {
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
