/** The typed client with the key of this session. A key that does not count any more ends the session. */
import { computed } from "@preact/signals";
import { type CyrnelClient, createClient } from "#client/client.ts";
import type { components, paths } from "#client/schema.ts";
import { key, signOut } from "../session/access.ts";
import { isAnswered, SERVER_URL, waitForServer } from "./connection.ts";

export type Schemas = components["schemas"];
export type Process = Schemas["Process"];
export type ProcessSummary = Schemas["ProcessSummary"];
export type ToolCall = Schemas["ToolCall"];
export type Approval = Schemas["Approval"];
export type ApprovalSummary = Schemas["ApprovalSummary"];

type Answer<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { "application/json": infer B } } } };
}
  ? B
  : never;

export type Service = Answer<"/services">["services"][number];
export type ServiceDetails = Answer<"/services/{id}">;
export type ToolSummary = Answer<"/tools">["tools"][number];
export type ToolDetails = Answer<"/tools/{serviceId}/{toolId}">;
export type Module = Answer<"/modules">["modules"][number];
export type Policy = Answer<"/policies">["policies"][number];
export type Role = Answer<"/roles">["roles"][number];
export type Key = Answer<"/keys">["keys"][number];
export type AuditRecord = Answer<"/audit">["records"][number];
export type EnvironmentReport = Answer<"/environment">;
export type Replica = Answer<"/replicas">["replicas"][number];

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

/** With what the client does not know: a stream, or a text that is shown as it is. */
export function fetchPath(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (key.value !== null) headers.set("authorization", `Bearer ${key.value}`);
  return fetchAsSession(new Request(`${SERVER_URL}${path}`, { ...init, headers, redirect: "error" }));
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
    signOut(
      "The server does not accept this key any more: it was revoked, or has expired. Your script is kept.",
    );
  }
  return response;
}
