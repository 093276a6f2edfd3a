// What a script finds around it, as declarations for an editor. Nothing else is there: no module loader, no files,
// no network, no process. Everything of ECMAScript 2024 comes from the "lib" of tsconfig.json.

/** Any value that survives JSON. */
type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

interface ToolSummary {
  serviceId: string;
  id: string;
  name: string;
  description: string;
}

interface ServiceSummary {
  id: string;
  name: string;
  description: string;
}

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
  /** Text and bytes as they are, anything else as JSON. */
  write(name: string, data: unknown): Promise<CyrnelFile>;
  append(name: string, data: unknown): Promise<CyrnelFile>;
  remove(name: string): Promise<void>;
}

declare const cyrnel: {
  /** The tools of installed services: `cyrnel.services.<service>.tools.<tool>.invoke(parameters)`. */
  readonly services: {
    readonly [service: string]: {
      readonly tools: { readonly [tool: string]: { invoke(parameters?: object, options?: { saveAs: string }): Promise<any> } };
    };
  };
  /** Merges `value` into the output of the process; later keys win. May be called any number of times. */
  output(value: object): void;
  discoverServices(query?: { query?: string; limit?: number }): Promise<ServiceSummary[]>;
  discoverTools(query?: { query?: string; serviceId?: string; limit?: number }): Promise<ToolSummary[]>;
  getService(id: string): Promise<ServiceSummary & { tools: ToolSummary[] }>;
  getTool(tool: { serviceId: string; toolId: string }): Promise<ToolSummary & { inputSchema: object; outputSchema: object }>;
  getToolDocs(tool: { serviceId: string; toolId: string }): Promise<string>;
  /** Asks a person; resolves with the answer. */
  ask(request: { message: string; schema?: object }): Promise<any>;
  /** The process this run belongs to. */
  readonly process: { readonly id: number; readonly ref: string | null };
  /** What the process was given as `input`: JSON data, frozen; undefined without one. */
  readonly input: any;
  /** The workspace: files the run was given, and those it writes, which become its artifacts. */
  readonly files: CyrnelFiles;
};

/** The same tools with less to write: `tools.<service>.<tool>(parameters)`. Cannot be enumerated. */
declare const tools: {
  readonly [service: string]: { readonly [tool: string]: (parameters?: object, options?: { saveAs: string }) => Promise<any> };
} & {
  search(query: { query: string; limit?: number }): Promise<ToolSummary[]>;
  describe: { tool(tool: { path: string }): Promise<unknown> };
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
/** Exists only to throw an error that says to use a service. */
declare function fetch(...ignored: unknown[]): never;

declare const performance: { now(): number };

declare const crypto: {
  randomUUID(): string;
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  readonly subtle: {
    digest(algorithm: "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512", data: ArrayBuffer | ArrayBufferView): Promise<ArrayBuffer>;
  };
};

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
