/** Typed client of the HTTP API: every route of docs/openapi.json, and helpers for common tasks. */
import createFetchClient, { type Client } from "openapi-fetch";
import { unwrap } from "./errors.ts";
import { type FollowOptions, followEvents, type ProcessEvent } from "./events.ts";
import { createRetryingFetch, type RetryOptions } from "./retry.ts";
import { type RunOptions, runScript, type WaitOptions, waitUntilIdle } from "./runs.ts";
import type { components, paths } from "./schema.ts";

export type ProcessRecord = components["schemas"]["Process"];

export type FileRecord = components["schemas"]["File"];

export interface UploadOptions {
  name?: string;
  /** Default: the Blob's type, or else the server derives it from the name. */
  contentType?: string;
  signal?: AbortSignal;
}

export interface ClientOptions extends RetryOptions {
  /** Server address, including a path if there is one: `https://cyrnel.example.com`. */
  url: string;
  /** API key. Omit it for a server in anonymous mode. */
  key?: string;
  /** Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/** `GET`, `POST`, … take an API path and resolve with `{data, error, response}`; the helpers throw CyrnelError. */
export interface CyrnelClient extends Client<paths> {
  readonly url: string;
  /** Submits a script, follows its events and returns the process when its run has ended, whatever the outcome. */
  run(code: string, options?: RunOptions): Promise<ProcessRecord>;
  /** Resolves with the process once it is idle. Keeps waiting while the process is paused for approval. */
  waitForIdle(id: number, options?: WaitOptions): Promise<ProcessRecord>;
  /** Yields past and future events of the current run until its end. Reconnects when a connection breaks. */
  events(id: number, options?: FollowOptions): AsyncGenerator<ProcessEvent, void>;
  /** Uploads a file. Pass its `id` to processes in `files`. */
  upload(content: Blob | Uint8Array<ArrayBuffer> | string, options?: UploadOptions): Promise<FileRecord>;
  /** Returns the content of an upload. */
  download(id: string): Promise<ReadableStream<Uint8Array>>;
  /** Returns the content of a process's input file. */
  downloadGiven(
    id: number,
    name: string,
    options?: { signal?: AbortSignal },
  ): Promise<ReadableStream<Uint8Array>>;
  /** Returns the content of an artifact from a process's last run. */
  downloadArtifact(
    id: number,
    name: string,
    options?: { signal?: AbortSignal },
  ): Promise<ReadableStream<Uint8Array>>;
}

const OCTETS = "application/octet-stream";

/** @throws TypeError if the URL cannot be a server's */
export function createClient(options: ClientOptions): CyrnelClient {
  const url = readUrl(options.url);
  const fetchOnce = options.fetch ?? ((request: Request) => globalThis.fetch(request));
  const fetch = createRetryingFetch(fetchOnce, options);
  const api = createFetchClient<paths>({
    baseUrl: url,
    fetch,
    // A redirect could send the key to another server.
    redirect: "error",
    ...(options.key !== undefined && { headers: { authorization: `Bearer ${options.key}` } }),
  });
  return {
    ...api,
    url,
    run: (code, runOptions) => runScript(api, code, runOptions),
    waitForIdle: (id, waitOptions) => waitUntilIdle(api, id, waitOptions),
    events: (id, followOptions) => followEvents(api, id, followOptions),
    async upload(content, { name, contentType, signal } = {}) {
      const type = contentType ?? (content instanceof Blob && content.type !== "" ? content.type : OCTETS);
      return unwrap(
        await api.POST("/files", {
          params: { query: { ...(name !== undefined && { name }) } },
          headers: { "content-type": type },
          // Copying a request for a retry would keep its body in memory, so each attempt creates a new request with
          // the same content.
          fetch: createRetryingFetch((head) => fetchOnce(new Request(head, { body: content })), options),
          ...(signal !== undefined && { signal }),
        }),
      );
    },
    async download(id) {
      const answer = await api.GET("/files/{id}/content", { params: { path: { id } }, parseAs: "stream" });
      return streamOf(answer);
    },
    async downloadGiven(id, name, { signal } = {}) {
      const answer = await api.GET("/processes/{id}/files/{name}", {
        params: { path: { id: String(id), name } },
        parseAs: "stream",
        ...(signal !== undefined && { signal }),
      });
      return streamOf(answer);
    },
    async downloadArtifact(id, name, { signal } = {}) {
      const answer = await api.GET("/processes/{id}/artifacts/{name}", {
        params: { path: { id: String(id), name } },
        parseAs: "stream",
        ...(signal !== undefined && { signal }),
      });
      return streamOf(answer);
    },
  };
}

/** openapi-fetch returns no data for an empty body. */
function streamOf(answer: {
  data?: unknown;
  error?: unknown;
  response: Response;
}): ReadableStream<Uint8Array> {
  const body = unwrap(answer) as ReadableStream<Uint8Array> | undefined;
  return body ?? new Blob().stream();
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new TypeError(
      `url must be the address of a server, such as http://127.0.0.1:9371; found "${text}".`,
    );
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new TypeError("url must not hold a user, a password, a query or a fragment. Give the key as key.");
  }
  return url.href.replace(/\/+$/, "");
}
