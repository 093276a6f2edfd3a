/** What the classes of this folder need from the realm. Importing the realm would bundle it twice. */
import type { BlobHost } from "./blob.ts";

export interface FetchHost extends BlobHost {
  /** Null until the script makes a stream. */
  streamsIfLoaded(): typeof import("./streams.ts").streams | null;
  loadUrl(): { URL: typeof URL; URLSearchParams: typeof URLSearchParams };
  isSearchParams(value: unknown): boolean;
  loadAbort(): { AbortSignal: typeof AbortSignal };
  isSignal(value: unknown): value is AbortSignal;
  /** `name`: for example `SHA-256`. */
  digest(name: string, data: Uint8Array): Promise<ArrayBuffer>;
  /** Resolves with the answer and the number of the call. `saveAs` names the file of a large body; `onMade` receives a function that cancels. */
  send(
    request: object,
    saveAs: string,
    onMade: (cancel: () => void) => void,
  ): Promise<{ answer: unknown; call: number }>;
  /** Waits for the next piece of a body, as base64; null at the end. */
  readBody(call: number): Promise<string | null>;
  closeBody(call: number): void;
  /** Makes the promise of a script's request, which the end of the run waits for. */
  makePromise(
    run: (resolve: (value: unknown) => void, reject: (reason: unknown, wasAborted?: boolean) => void) => void,
  ): Promise<unknown>;
  /** Returns whether a message to the host has room for it. */
  fits(request: object): boolean;
  /** Like JSON.parse, with a warning for each rounded integer. */
  parseJson(text: string, what: string): unknown;
  listFiles(): readonly string[];
  readFile(name: string, offset: number, length: number): Promise<Uint8Array>;
  /** Decodes UTF-8 and drops a byte order mark. */
  readText(name: string): Promise<string>;
  writeFile(name: string, data: string | Uint8Array, mode: "replace" | "append"): Promise<void>;
  /** Never rejects. */
  removeFile(name: string): Promise<void>;
}
