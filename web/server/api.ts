/**
 * Typed requests with this session's key, and hooks that load data for pages. A key that the server no longer accepts
 * ends the session.
 */
import { computed, type ReadonlySignal } from "@preact/signals";
import type { Client, ClientPathsWithMethod, FetchOptions, MethodResponse } from "openapi-fetch";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type CyrnelClient, createClient } from "#client/client.ts";
import { CyrnelError, unwrap } from "#client/errors.ts";
import type { components, paths } from "#client/schema.ts";
import { key, signOut } from "./access.ts";
import { isAnswered, returns, SERVER_URL, waitForServer } from "./connection.ts";

type Schemas = components["schemas"];
export type Process = Schemas["Process"];
export type ProcessSummary = Schemas["ProcessSummary"];
export type ToolCall = Schemas["ToolCall"];
export type Approval = Schemas["Approval"];

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type PathOf<M extends Method> = ClientPathsWithMethod<Client<paths>, Lowercase<M>>;
type InitOf<M extends Method, P extends PathOf<M>> = FetchOptions<paths[P][Lowercase<M> & keyof paths[P]]>;
type Answer<P extends PathOf<M>, M extends Method = "GET", I = unknown> = MethodResponse<
  Client<paths>,
  Lowercase<M>,
  P,
  I
>;

export type Service = Answer<"/services">["services"][number];
export type ServiceDetails = Answer<"/services/{id}">;
export type ServicePreview = Answer<"/services/preview", "POST">;
export type ToolSummary = Answer<"/tools">["tools"][number];
export type ToolDetails = Answer<"/tools/{serviceId}/{toolId}">;
export type Module = Answer<"/modules">["modules"][number];
export type PackageSummary = Answer<"/packages">["packages"][number];
export type PackageDetails = Answer<"/packages/{name}/{version}">;
export type Installation = Answer<"/package-installations">["installations"][number];
export type Policy = Answer<"/policies">["policies"][number];
export type Role = Answer<"/roles">["roles"][number];
export type Key = Answer<"/keys">["keys"][number];
export type AuditRecord = Answer<"/audit">["records"][number];
export type LogRecord = Answer<"/logs">["logs"][number];
export type EnvironmentReport = Answer<"/environment">;
export type Replica = Answer<"/replicas">["replicas"][number];

/** Largest page the API returns. */
export const ALL = { params: { query: { limit: "200" } } } as const;

const MAX_RETRIES = 2;
const MAX_WAIT_MS = 3000;

export const client = computed<CyrnelClient>(() =>
  createClient({
    url: SERVER_URL,
    ...(key.value !== null && { key: key.value }),
    fetch: fetchAsSession as typeof globalThis.fetch,
    maxRetries: MAX_RETRIES,
    maxWaitMs: MAX_WAIT_MS,
  }),
);

type Call<M extends Method> = <P extends PathOf<M>, I extends InitOf<M, P>>(
  path: P,
  ...init: Record<never, never> extends InitOf<M, P> ? [init?: I] : [init: I]
) => Promise<Answer<P, M, I>>;

/**
 * Returns a function that sends a request and returns the response's data. It throws CyrnelError for an error
 * response.
 */
function call<M extends Method>(method: M): Call<M> {
  type Send = (path: string, init: unknown) => Promise<{ response: Response }>;
  return (async (path: string, init: unknown) =>
    unwrap(await (client.value[method] as unknown as Send)(path, init))) as Call<M>;
}

export const get = call("GET");
export const post = call("POST");
export const put = call("PUT");
export const patch = call("PATCH");
export const remove = call("DELETE");

/**
 * Fetches what the typed client does not support: a stream, or raw text. Throws CyrnelError for an error response.
 */
export async function fetchPath(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (key.value !== null) headers.set("authorization", `Bearer ${key.value}`);
  const response = await fetchAsSession(
    new Request(`${SERVER_URL}${path}`, { ...init, headers, redirect: "error" }),
  );
  if (!response.ok) throw new CyrnelError(response, await response.json().catch(() => null));
  return response;
}

/** Saves a response as a file, under a media type that no browser displays. */
export async function saveAs(path: string, name: string): Promise<void> {
  const bytes = await (await fetchPath(path)).arrayBuffer();
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

async function fetchAsSession(request: Request): Promise<Response> {
  const sentWith = key.value;
  let response: Response;
  try {
    response = await fetch(request);
  } catch (error) {
    if (!request.signal.aborted) void waitForServer();
    throw error;
  }
  if (!isAnswered(response)) void waitForServer();
  endRefusedSession(response, sentWith);
  return response;
}

/** Ends the session if the server rejected the key and it is still the session's key. */
export function endRefusedSession({ status }: Pick<Response, "status">, sentWith: string | null): void {
  if (status !== 401 || sentWith !== key.value) return;
  signOut("This key was revoked or has expired. Sign in with another key; your script is kept.");
}

export interface Resource<T> {
  data: T | null;
  /** Error of the last attempt; `data` may be from an earlier one. */
  error: unknown;
  /** Loads again, also after a load that is already in progress. */
  reload(): void;
}

/**
 * When to load again. "when seen": when the page becomes visible or the server is reachable again. A number: also at
 * this interval in ms while the page is visible, one request at a time. "until loaded": like "when seen", but only
 * until the first success.
 */
type Pace = "when seen" | "until loaded" | number;

/** Loads a GET response. A change of `path` or `init` drops the old response. */
export function useGet<P extends PathOf<"GET">, I extends InitOf<"GET", P>>(
  path: P,
  init: I,
  pace?: Pace,
): Resource<Answer<P, "GET", I>> {
  type Get = (path: P, init: I) => Promise<Answer<P, "GET", I>>;
  return useResource(
    (signal) => (get as unknown as Get)(path, { ...init, signal }),
    [path, JSON.stringify(init)],
    pace,
  );
}

/** `parts` are the values that the response depends on: when they change, the loaded data is dropped. */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  parts: readonly unknown[],
  pace: Pace = "when seen",
): Resource<T> {
  const [state, setState] = useState<{ data: T | null; error: unknown; of: readonly unknown[] }>({
    data: null,
    error: null,
    of: parts,
  });
  const current = useRef(load);
  current.current = load;
  const refresh = useRef(() => {});
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLoading = false;
    let isWantedAgain = false;
    let isLoaded = false;
    async function loadOnce() {
      try {
        const data = await current.current(stop.signal);
        isLoaded = true;
        if (!stop.signal.aborted) setState({ data, error: null, of: parts });
      } catch (error) {
        if (!stop.signal.aborted) {
          setState((before) => ({ data: isSame(before.of, parts) ? before.data : null, error, of: parts }));
        }
      }
    }
    async function refreshNow() {
      isWantedAgain = isLoading;
      if (isLoading) return;
      isLoading = true;
      clearTimeout(timer);
      do {
        isWantedAgain = false;
        await loadOnce();
      } while (isWantedAgain && !stop.signal.aborted);
      isLoading = false;
      if (typeof pace === "number" && !stop.signal.aborted && !document.hidden) {
        timer = setTimeout(() => void refreshNow(), pace);
      }
    }
    const onSeen = () => {
      if (!document.hidden && !(isLoaded && pace === "until loaded")) void refreshNow();
    };
    refresh.current = () => void refreshNow();
    document.addEventListener("visibilitychange", onSeen);
    // Subscribing calls the listener immediately, which starts the first load.
    const forget = returns.subscribe(onSeen);
    return () => {
      stop.abort();
      forget();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onSeen);
    };
  }, [...parts, pace]);
  const reload = useCallback(() => refresh.current(), []);
  const isOther = !isSame(state.of, parts);
  return { data: isOther ? null : state.data, error: isOther ? null : state.error, reload };
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((part, index) => Object.is(part, other[index]));
}

/** Calls `act` each time a signal changes, but not on the first render. */
export function useOnChange({ value }: ReadonlySignal<unknown>, act: () => void): void {
  const seen = useRef(value);
  useEffect(() => {
    if (seen.current === value) return;
    seen.current = value;
    act();
  }, [value, act]);
}
