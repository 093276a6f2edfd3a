/**
 * One process's events as an async iterator: server-sent events over fetch. Resumes after the last event when a
 * connection breaks or falls silent, so no event is lost or repeated.
 */
import { createParser } from "eventsource-parser";
import type { Client } from "openapi-fetch";
import { CyrnelError, unwrap } from "./errors.ts";
import { sleep } from "./retry.ts";
import type { components, paths } from "./schema.ts";

type Process = components["schemas"]["Process"];

export interface EndingData {
  state: Process["state"];
  exitState: Process["exitState"];
  reason: Process["reason"];
  error: string | null;
}

/** Data by event name. `output` contains keys to merge shallowly into earlier ones. */
export interface ProcessEventData {
  state: EndingData;
  /** `level` is set for lines from `console.debug` and `console.warn`. */
  stdout: { text: string; level?: "debug" | "warn" };
  stderr: { text: string; level?: "debug" | "warn" };
  output: Record<string, unknown>;
  call: components["schemas"]["ToolCall"];
  approval: { id: string; state: "pending" | "approved" | "denied" | "expired" };
  /** A file that the run left, sent before `end`. */
  artifact: components["schemas"]["ProcessArtifact"];
  end: EndingData;
}

/** `id` is the position after the event: pass it as `lastEventId` to resume there. */
export type ProcessEvent = {
  [E in keyof ProcessEventData]: { id: string; event: E; data: ProcessEventData[E] };
}[keyof ProcessEventData];

export interface FollowOptions {
  signal?: AbortSignal;
  /** Resumes after this event. */
  lastEventId?: string;
  /** Maximum number of consecutive connections without an event before the last failure is thrown. */
  maxReconnects?: number;
}

const DEFAULT_MAX_RECONNECTS = 8;
const FIRST_RECONNECT_MS = 100;
const MAX_RECONNECT_MS = 10_000;
/** The server sends a comment every 15 s. */
const MAX_SILENCE_MS = 60_000;
/** Limit of one event; `output` is the largest. */
const MAX_EVENT_CHARACTERS = 32 * 1024 * 1024;
const NAMES: ReadonlySet<string> = new Set([
  "state",
  "stdout",
  "stderr",
  "output",
  "call",
  "approval",
  "artifact",
  "end",
] satisfies (keyof ProcessEventData)[]);

/**
 * Ends after `end`, or at once if `lastEventId` is the end.
 * @throws CyrnelError if the server rejects the request, the signal's reason on abort, or the last connection failure
 */
export async function* followEvents(
  api: Pick<Client<paths>, "GET">,
  id: number,
  options: FollowOptions = {},
): AsyncGenerator<ProcessEvent, void> {
  const { signal, maxReconnects = DEFAULT_MAX_RECONNECTS } = options;
  let { lastEventId } = options;
  for (let failures = 0; ; ) {
    let failure: unknown = new Error(`The events of process ${id} broke off before its end.`);
    try {
      for await (const event of readOnce(api, id, lastEventId, signal)) {
        if (event === "nothing missing") return;
        failures = 0;
        lastEventId = event.id;
        yield event;
        if (event.event === "end") return;
      }
    } catch (error) {
      if (signal?.aborted || error instanceof CyrnelError || error instanceof MalformedStream) throw error;
      failure = error;
    }
    if (++failures > maxReconnects) throw failure;
    await sleep(Math.min(MAX_RECONNECT_MS, FIRST_RECONNECT_MS * 2 ** (failures - 1)), signal);
  }
}

class MalformedStream extends Error {}

/** Yields the events of one connection until it ends or breaks. */
async function* readOnce(
  api: Pick<Client<paths>, "GET">,
  id: number,
  lastEventId: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<ProcessEvent | "nothing missing", void> {
  const silence = new AbortController();
  const answer = await api.GET("/processes/{id}/events", {
    params: {
      path: { id: String(id) },
      ...(lastEventId !== undefined && { header: { "last-event-id": lastEventId } }),
    },
    parseAs: "stream",
    signal: signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]),
  });
  if (answer.response.status === 204) return yield "nothing missing";
  unwrap(answer);
  const { body } = answer.response;
  if (body === null) return;
  let ready: ProcessEvent[] = [];
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARACTERS,
    onEvent: ({ id: eventId, event, data }) => {
      const read = readEvent(eventId, event, data);
      if (read !== null) ready.push(read);
    },
    onError: (error) => {
      if (error.type !== "unknown-field")
        throw new MalformedStream(`The event stream is malformed: ${error.message}`);
    },
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const watch = setTimeout(
        () => silence.abort(new Error(`The server was silent for ${MAX_SILENCE_MS} ms.`)),
        MAX_SILENCE_MS,
      );
      const { done, value } = await reader.read().finally(() => clearTimeout(watch));
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      const events = ready;
      ready = [];
      yield* events;
    }
  } finally {
    silence.abort(new Error("The events are no longer followed."));
    await reader.cancel().catch(() => {});
  }
}

/** Returns null for unknown event names: later servers may have more. */
function readEvent(id: string | undefined, event: string | undefined, data: string): ProcessEvent | null {
  if (id === undefined || event === undefined || !NAMES.has(event)) return null;
  try {
    return { id, event, data: JSON.parse(data) } as ProcessEvent;
  } catch {
    throw new MalformedStream(`The data of the event ${event} is not JSON.`);
  }
}
