/**
 * Declarations of the script globals besides `cyrnel` and `tools`. They are the same in every realm and for every
 * caller. Pure.
 */

import { STREAMS } from "./streams.ts";

/**
 * Besides these, a realm has only ECMAScript 2024, which tsconfig.json declares with "lib". There is no module loader
 * and no `process`.
 */
export const REALM_GLOBALS = `/** log, info and debug go to stdout; warn, error and trace to stderr; formatted as Node's console does. */
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

${STREAMS}`;
