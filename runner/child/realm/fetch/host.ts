/** Functions that the classes in this folder get from the realm. Importing the realm would bundle it twice. */
import type { BlobHost } from "./blob.ts";

export interface FetchHost extends BlobHost {
  /** Returns null until the script creates a stream. */
  streamsIfLoaded(): typeof import("./streams.ts").streams | null;
  loadUrl(): { URL: typeof URL; URLSearchParams: typeof URLSearchParams };
  isSearchParams(value: unknown): boolean;
  loadAbort(): { AbortSignal: typeof AbortSignal };
  isSignal(value: unknown): value is AbortSignal;
  digest(name: string, data: Uint8Array): Promise<ArrayBuffer>;
  /**
   * Sends a request. Resolves with the response and the call's number. `saveAs` names the file for a large body;
   * `onMade` receives a function that cancels.
   */
  send(
    request: object,
    saveAs: string,
    onMade: (cancel: () => void) => void,
  ): Promise<{ answer: unknown; call: number }>;
  /** Waits for the next piece of a body, as base64. Resolves with null at the end. */
  readBody(call: number): Promise<string | null>;
  closeBody(call: number): void;
  /** Creates the promise of a script's request. The run does not end before it settles. */
  makePromise(
    run: (resolve: (value: unknown) => void, reject: (reason: unknown, wasAborted?: boolean) => void) => void,
  ): Promise<unknown>;
  fits(request: object): boolean;
  /** Like JSON.parse, but warns of each rounded integer. */
  parseJson(text: string, what: string): unknown;
  listFiles(): readonly string[];
  readFile(name: string, offset: number, length: number): Promise<Uint8Array>;
  /** Reads a UTF-8 file without its byte order mark. */
  readText(name: string): Promise<string>;
  writeFile(name: string, data: string | Uint8Array, mode: "replace" | "append"): Promise<void>;
  removeFile(name: string): Promise<void>;
}
