/** What the classes of this folder need of the realm; importing it would build the realm into them a second time. */
import type { BlobHost } from "./blob.ts";

export interface FetchHost extends BlobHost {
  /** Null while no script has made a stream. */
  streamsIfLoaded(): typeof import("./streams.ts").streams | null;
  loadUrl(): { URL: typeof URL; URLSearchParams: typeof URLSearchParams };
  isSearchParams(value: unknown): boolean;
  loadAbort(): { AbortSignal: typeof AbortSignal };
  /** Null while no script has made a signal. */
  isSignal(value: unknown): value is AbortSignal;
  /** `name`: `SHA-256` and so on. */
  digest(name: string, data: Uint8Array): Promise<ArrayBuffer>;
  /** Resolves with what the host answers, and the number of the call. `saveAs`: what a large body becomes. `onMade` gets what gives the request up. */
  send(
    request: object,
    saveAs: string,
    onMade: (cancel: () => void) => void,
  ): Promise<{ answer: unknown; call: number }>;
  /** Of the answer to a call: the next piece as base64, waited for; null at the end. */
  readBody(call: number): Promise<string | null>;
  /** Nothing more is read of it. */
  closeBody(call: number): void;
  /** The promise of a request that a script makes. */
  makePromise(
    run: (resolve: (value: unknown) => void, reject: (reason: unknown, wasAborted?: boolean) => void) => void,
  ): Promise<unknown>;
  /** Whether it is not too large for a message to the host. */
  fits(request: object): boolean;
  /** As JSON.parse, and warns of an integer that it rounds. */
  parseJson(text: string, what: string): unknown;
  /** The names of the files there are. */
  listFiles(): readonly string[];
  readFile(name: string, offset: number, length: number): Promise<Uint8Array>;
  /** UTF-8, without a byte order mark. */
  readText(name: string): Promise<string>;
  writeFile(name: string, data: string | Uint8Array, mode: "replace" | "append"): Promise<void>;
  /** Never rejects. */
  removeFile(name: string): Promise<void>;
}
