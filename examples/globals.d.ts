// What a script finds beside `cyrnel` and `tools` (cyrnel.d.ts), as declarations for an editor. Nothing else is there: no module loader,
// no files of the machine, no network but what rules of the server allow, no process. Everything of ECMAScript 2024 comes from the
// "lib" of tsconfig.json.

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

declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
declare class AbortSignal {
  static abort(reason?: unknown): AbortSignal;
  static any(signals: AbortSignal[]): AbortSignal;
  static timeout(ms: number): AbortSignal;
  readonly aborted: boolean;
  readonly reason: any;
  onabort: ((event: unknown) => void) | null;
  addEventListener(type: "abort", listener: (event: unknown) => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: (event: unknown) => void): void;
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
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
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
declare class Headers {
  constructor(init?: HeadersInit);
  append(name: string, value: string): void;
  delete(name: string): void;
  get(name: string): string | null;
  getSetCookie(): string[];
  has(name: string): boolean;
  set(name: string, value: string): void;
  forEach(callback: (value: string, name: string, headers: Headers) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
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
declare class FormData {
  append(name: string, value: string | Blob, filename?: string): void;
  delete(name: string): void;
  get(name: string): FormDataValue | null;
  getAll(name: string): FormDataValue[];
  has(name: string): boolean;
  set(name: string, value: string | Blob, filename?: string): void;
  forEach(callback: (value: FormDataValue, name: string, form: FormData) => void): void;
  entries(): IterableIterator<[string, FormDataValue]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<FormDataValue>;
  [Symbol.iterator](): IterableIterator<[string, FormDataValue]>;
}

interface StreamStrategy<T> {
  highWaterMark?: number;
  size?(chunk: T): number;
}
interface ReadableController<T> {
  readonly desiredSize: number | null;
  enqueue(chunk: T): void;
  close(): void;
  error(reason?: unknown): void;
}
interface StreamReader<T> {
  readonly closed: Promise<void>;
  read(): Promise<{ done: false; value: T } | { done: true; value: undefined }>;
  cancel(reason?: unknown): Promise<void>;
  releaseLock(): void;
}
declare class ReadableStream<T = any> {
  constructor(
    source?: {
      type?: "bytes";
      start?(controller: ReadableController<T>): unknown;
      pull?(controller: ReadableController<T>): unknown;
      cancel?(reason: unknown): unknown;
    },
    strategy?: StreamStrategy<T>,
  );
  static from<T>(pieces: Iterable<T> | AsyncIterable<T>): ReadableStream<T>;
  readonly locked: boolean;
  cancel(reason?: unknown): Promise<void>;
  getReader(): StreamReader<T>;
  getReader(options: { mode: "byob" }): { read<V extends ArrayBufferView>(view: V): Promise<{ done: boolean; value?: V }>; releaseLock(): void };
  pipeThrough<U>(pair: { readable: ReadableStream<U>; writable: WritableStream<T> }, options?: { signal?: AbortSignal }): ReadableStream<U>;
  pipeTo(target: WritableStream<T>, options?: { preventClose?: boolean; signal?: AbortSignal }): Promise<void>;
  tee(): [ReadableStream<T>, ReadableStream<T>];
  [Symbol.asyncIterator](): AsyncIterableIterator<T>;
}
declare class WritableStream<T = any> {
  constructor(
    sink?: {
      start?(controller: { error(reason?: unknown): void; readonly signal: AbortSignal }): unknown;
      write?(chunk: T): unknown;
      close?(): unknown;
      abort?(reason: unknown): unknown;
    },
    strategy?: StreamStrategy<T>,
  );
  readonly locked: boolean;
  abort(reason?: unknown): Promise<void>;
  close(): Promise<void>;
  getWriter(): {
    readonly closed: Promise<void>;
    readonly ready: Promise<void>;
    readonly desiredSize: number | null;
    write(chunk: T): Promise<void>;
    close(): Promise<void>;
    abort(reason?: unknown): Promise<void>;
    releaseLock(): void;
  };
}
declare class TransformStream<I = any, O = any> {
  constructor(
    transformer?: {
      start?(controller: ReadableController<O> & { terminate(): void }): unknown;
      transform?(chunk: I, controller: ReadableController<O> & { terminate(): void }): unknown;
      flush?(controller: ReadableController<O> & { terminate(): void }): unknown;
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
