/**
 * The events of one process as an async iterator: server-sent events over fetch. A connection that breaks or falls silent
 * is opened anew after the last event, so nothing is lost and nothing comes twice.
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

/** Event name -> its data. `output` holds keys to merge into what came before, shallow. */
export interface ProcessEventData {
  state: EndingData;
  /** `level`: of lines that were printed with `console.debug` or `console.warn`. */
  stdout: { text: string; level?: "debug" | "warn" };
  stderr: { text: string; level?: "debug" | "warn" };
  output: Record<string, unknown>;
  call: components["schemas"]["ToolCall"];
  approval: { id: string; state: "pending" | "approved" | "denied" | "expired" };
  /** A file that the run left; when it is over, before `end`. */
  artifact: components["schemas"]["ProcessArtifact"];
  end: EndingData;
}

/** `id` is the position after the event: give it as `lastEventId` to go on there. */
export type ProcessEvent = {
  [E in keyof ProcessEventData]: { id: string; event: E; data: ProcessEventData[E] };
}[keyof ProcessEventData];

export interface FollowOptions {
  signal?: AbortSignal;
  /** Goes on after this event. */
  lastEventId?: string;
  /** Connections in a row that bring no event before the last failure is thrown. */
  maxReconnects?: number;
}

const DEFAULT_MAX_RECONNECTS = 8;
const FIRST_RECONNECT_MS = 100;
const MAX_RECONNECT_MS = 10_000;
/** The server sends a comment every 15 s. */
const MAX_SILENCE_MS = 60_000;
/** One event, `output` being the largest. */
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
 * Ends after `end`, or at once when `lastEventId` is the end.
 * @throws CyrnelError where the server refuses; the signal's reason when it aborts; the last failure of a connection.
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

/** The events of one connection, until it ends or breaks. */
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

/** Null for an event name this client does not know: a later server may have more. */
function readEvent(id: string | undefined, event: string | undefined, data: string): ProcessEvent | null {
  if (id === undefined || event === undefined || !NAMES.has(event)) return null;
  try {
    return { id, event, data: JSON.parse(data) } as ProcessEvent;
  } catch {
    throw new MalformedStream(`The data of the event ${event} is not JSON.`);
  }
}
