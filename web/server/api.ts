/**
 * Requests with the key of this session, typed, and what pages load with them. A key that the server no longer accepts ends
 * the session.
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
/** Body of a successful answer. */
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

/** A function that sends a request and answers what the answer holds; it throws CyrnelError for one that is an error. */
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

/** For what the typed client does not do: a stream, or a text that is taken as it is. Throws as the others do. */
export async function fetchPath(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (key.value !== null) headers.set("authorization", `Bearer ${key.value}`);
  const response = await fetchAsSession(
    new Request(`${SERVER_URL}${path}`, { ...init, headers, redirect: "error" }),
  );
  if (!response.ok) throw new CyrnelError(response, await response.json().catch(() => null));
  return response;
}

/** Saves what a path answers as a file, under a type that no browser shows. */
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

/** Ends the session where the key that was sent is still its own, and refused. */
export function endRefusedSession({ status }: Pick<Response, "status">, sentWith: string | null): void {
  if (status !== 401 || sentWith !== key.value) return;
  signOut("This key was revoked or has expired. Sign in with another key; your script is kept.");
}

export interface Resource<T> {
  data: T | null;
  /** Error of the last attempt; `data` may be older. */
  error: unknown;
  /** Loads again; what is loading already is loaded once more after it. */
  reload(): void;
}

/**
 * When it loads again: "when seen": when the page becomes visible and when the server was away; a number: also every so many
 * ms while the page is visible, one request at a time; "until loaded": like the first, but no more once it is there.
 */
type Pace = "when seen" | "until loaded" | number;

/** Loads the answer to a GET. A change of `path` or `init` drops the old answer. */
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

/** `parts` are what the answer depends on: when they change, what was loaded for others is dropped. */
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
    // Loads: a subscription begins with a call.
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

/** Calls `act` each time a signal changes, and not when the page is first shown. */
export function useOnChange({ value }: ReadonlySignal<unknown>, act: () => void): void {
  const seen = useRef(value);
  useEffect(() => {
    if (seen.current === value) return;
    seen.current = value;
    act();
  }, [value, act]);
}
