/** The typed client with the key of this session. A key that the server no longer accepts ends the session. */
import { computed } from "@preact/signals";
import type { Client, ClientPathsWithMethod, FetchOptions, MethodResponse } from "openapi-fetch";
import { type CyrnelClient, createClient } from "#client/client.ts";
import { CyrnelError, unwrap } from "#client/errors.ts";
import type { components, paths } from "#client/schema.ts";
import { key, signOut } from "../session/access.ts";
import { isAnswered, SERVER_URL, waitForServer } from "./connection.ts";

type Schemas = components["schemas"];
export type Process = Schemas["Process"];
export type ProcessSummary = Schemas["ProcessSummary"];
export type ToolCall = Schemas["ToolCall"];
export type Approval = Schemas["Approval"];

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type PathOf<M extends Method> = ClientPathsWithMethod<Client<paths>, Lowercase<M>>;
export type InitOf<M extends Method, P extends PathOf<M>> = FetchOptions<paths[P][Lowercase<M>]>;
/** What an answer holds. */
export type Answer<P extends PathOf<M>, M extends Method = "GET", I = unknown> = MethodResponse<
  Client<paths>,
  Lowercase<M>,
  P,
  I
>;

export type Service = Answer<"/services">["services"][number];
export type ServiceDetails = Answer<"/services/{id}">;
export type ToolSummary = Answer<"/tools">["tools"][number];
export type ToolDetails = Answer<"/tools/{serviceId}/{toolId}">;
export type Module = Answer<"/modules">["modules"][number];
export type Policy = Answer<"/policies">["policies"][number];
export type Role = Answer<"/roles">["roles"][number];
export type Key = Answer<"/keys">["keys"][number];
export type AuditRecord = Answer<"/audit">["records"][number];
export type LogRecord = Answer<"/logs">["logs"][number];
export type EnvironmentReport = Answer<"/environment">;
export type Replica = Answer<"/replicas">["replicas"][number];

/** As many items as one answer may have. */
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
  if (response.status === 401 && sentWith === key.value) {
    signOut("The server no longer accepts this key: it was revoked, or has expired. Your script is kept.");
  }
  return response;
}
