/** Server-sent events with the session's key, which EventSource cannot send. Reconnects when a stream breaks. */
import { createParser } from "eventsource-parser";
import { CyrnelError } from "#client/errors.ts";
import { sleep } from "#client/retry.ts";
import { fetchPath } from "./api.ts";

export interface StreamEvent {
  event: string;
  data: unknown;
}

const FIRST_RECONNECT_MS = 500;
const MAX_RECONNECT_MS = 10_000;
const MAX_EVENT_CHARACTERS = 4 * 1024 * 1024;

/**
 * Calls `onEvent` for each event until `signal` aborts, while the page is visible. `onOpen` reports a connection;
 * events since the last one may be missing unless the server resumes. Rejects with CyrnelError if the server rejects
 * the request.
 */
export async function followStream(
  path: string,
  signal: AbortSignal,
  onEvent: (event: StreamEvent) => void,
  onOpen: () => void = () => {},
): Promise<void> {
  let lastEventId: string | null = null;
  let failures = 0;
  const readOnce = async (visible: AbortSignal) => {
    const response = await fetchPath(path, {
      signal: visible,
      headers: {
        accept: "text/event-stream",
        ...(lastEventId !== null && { "last-event-id": lastEventId }),
      },
    });
    onOpen();
    const parser = createParser({
      maxBufferSize: MAX_EVENT_CHARACTERS,
      onEvent: ({ id, event = "message", data }) => {
        failures = 0;
        if (id !== undefined) lastEventId = id;
        onEvent({ event, data: readJson(data) });
      },
    });
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      const chunk = await reader?.read();
      if (chunk === undefined || chunk.done) return;
      parser.feed(decoder.decode(chunk.value, { stream: true }));
    }
  };
  for (; !signal.aborted; failures++) {
    try {
      await whileVisible(signal, readOnce);
    } catch (error) {
      if (signal.aborted) return;
      const isRefusal = error instanceof CyrnelError && error.status < 500 && error.status !== 429;
      if (isRefusal) throw error;
    }
    const waitMs = Math.min(MAX_RECONNECT_MS, FIRST_RECONNECT_MS * 2 ** failures);
    await sleep(waitMs, signal).catch(() => {});
  }
}

/**
 * Returns a function whose calls within `ms` of the first become one call of `act`. Does nothing after `signal`
 * aborts.
 */
export function soon(ms: number, signal: AbortSignal, act: () => void): () => void {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(() => {
      isWaiting = false;
      if (!signal.aborted) act();
    }, ms);
  };
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Keeps a connection only while the page is visible: browsers allow six per server in total, and hidden tabs would
 * use them up. Calls `follow` whenever the page becomes visible, with a signal that aborts when it is hidden. Settles
 * as `follow` does when that ends by itself, or when `signal` aborts.
 */
export async function whileVisible(
  signal: AbortSignal,
  follow: (visible: AbortSignal) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await becomeVisible(signal);
    const hidden = new AbortController();
    const onChange = () => {
      if (document.hidden) hidden.abort();
    };
    document.addEventListener("visibilitychange", onChange);
    try {
      await follow(AbortSignal.any([signal, hidden.signal]));
      if (!hidden.signal.aborted) return;
    } catch (error) {
      if (!hidden.signal.aborted) throw error;
    } finally {
      document.removeEventListener("visibilitychange", onChange);
    }
  }
}

/** Resolves at once if the page is visible, and also when `signal` aborts. */
function becomeVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}
