/** What the function `fetch` of a local runtime answers, as the `fetch` of a script takes it: a large body goes through a file. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Workspace } from "#runner/workspace/workspace.ts";
import type { SavedAnswer, ToolRequest } from "#sdk";

/** The path of that function among the tools. */
export const FETCH_PATH = "fetch";
/** A larger body is a file. */
const MAX_INLINE_BYTES = 1024 * 1024;
/** A body of unknown length that has not ended by then is streamed, an event stream at once. */
const STREAM_AFTER_MS = 250;

/** A Response is read; what is none must be an answer already: `{status, statusText, headers, url, redirected, body}`. */
export async function answerFetch(
  workspace: Workspace,
  { saveAs = "", openStream, signal }: Pick<ToolRequest, "saveAs" | "openStream" | "signal">,
  made: unknown,
): Promise<SavedAnswer> {
  if (!(made instanceof Response)) return { answer: made, size: null };
  const { status, statusText, headers, url, redirected } = made;
  const answer = { status, statusText, headers: [...headers], url, redirected };
  if (made.body === null) return { answer: { ...answer, body: null }, size: null };
  const reader = made.body.getReader();
  const begun: Uint8Array[] = [];
  let length = 0;
  const isEventStream = /^text\/event-stream\b/i.test(made.headers.get("content-type") ?? "");
  const mayStream = openStream !== undefined && !made.headers.has("content-length");
  let late = mayStream ? sleep(isEventStream ? 0 : STREAM_AFTER_MS, null, { ref: false }) : null;
  /** It may fail before anyone waits for it. */
  const begin = () => {
    const read = reader.read();
    read.catch(() => {});
    return read;
  };
  let next = begin();
  const pieces = (async function* () {
    try {
      yield* begun;
      for (;;) {
        const { done, value } = await next;
        if (done) return;
        yield value;
        next = begin();
      }
    } finally {
      reader.cancel().catch(() => {});
    }
  })();
  while (length <= MAX_INLINE_BYTES) {
    const came = await Promise.race(late === null ? [next] : [next, late]);
    if (came === null) {
      late = null;
      const stream = openStream?.();
      if (!stream) continue;
      signal?.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
      const streamed = { answer: { ...answer, body: { stream: true } }, size: null };
      await stream(streamed, pieces);
      return streamed;
    }
    const { done, value } = came;
    if (done) return { answer: { ...answer, body: toInline(Buffer.concat(begun)) }, size: null };
    begun.push(value);
    length += value.length;
    next = begin();
  }
  const { size } = await workspace.save(saveAs, pieces);
  return { answer: { ...answer, body: { file: saveAs, size } }, size };
}

function toInline(bytes: Buffer): { text: string } | { base64: string } {
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString("base64") };
}
