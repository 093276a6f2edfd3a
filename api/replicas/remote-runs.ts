/** Asks the replica that owns a run about it, over HTTP, with the token that this replica stored in the database. */
import type { RemoteRuns } from "#api/processes/model/peers.ts";
import { readCalls, readView } from "./wire.ts";

/** Time allowed in addition to the wait requested from the other server. */
const ANSWER_MS = 2000;
/** Silence after which a stream is broken. The other server sends something every 15 s. */
const MAX_STREAM_SILENCE_MS = 20_000;
/** Largest event: 64 KiB of text, or all output and results of a call. */
const MAX_EVENT_CHARACTERS = 32 * 1024 * 1024;

export interface RemoteAddress {
  address: string;
  token: Buffer;
}

/** `find` returns null if the server is lost or cannot be reached. */
export function createRemoteRuns(find: (owner: string) => Promise<RemoteAddress | null>): RemoteRuns {
  async function ask(owner: string, path: string, signal: AbortSignal): Promise<Response> {
    const remote = await find(owner);
    if (remote === null) throw new Error("the server of the run cannot be reached");
    const response = await fetch(new URL(path, remote.address), {
      headers: { authorization: `Bearer ${remote.token.toString("base64url")}` },
      redirect: "error",
      signal,
    });
    if (response.ok) return response;
    await response.body?.cancel();
    throw new Error(`the server of the run answered ${response.status}`);
  }

  return {
    async readView(owner, id, { until, maxMs }, signal) {
      const timed = AbortSignal.any([signal, AbortSignal.timeout(maxMs + ANSWER_MS)]);
      const response = await ask(
        owner,
        `/internal/runs/${id}?until=${until}&maxMs=${Math.round(maxMs)}`,
        timed,
      );
      const text = await response.text();
      return text === "null" ? null : readView(text);
    },
    async readCalls(owner, id) {
      const response = await ask(owner, `/internal/runs/${id}/calls`, AbortSignal.timeout(ANSWER_MS));
      const text = await response.text();
      return text === "null" ? null : readCalls(text);
    },
    async *follow(owner, id, lastEventId, signal) {
      const query = lastEventId === null ? "" : `?after=${encodeURIComponent(lastEventId)}`;
      const stopped = new AbortController();
      let silence = setTimeout(() => stopped.abort(), ANSWER_MS);
      try {
        const response = await ask(
          owner,
          `/internal/runs/${id}/events${query}`,
          AbortSignal.any([signal, stopped.signal]),
        );
        if (response.status === 204 || response.body === null) return;
        let text = "";
        for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
          clearTimeout(silence);
          silence = setTimeout(() => stopped.abort(), MAX_STREAM_SILENCE_MS);
          text += chunk;
          const end = text.lastIndexOf("\n\n");
          if (end >= 0) {
            for (const event of text.slice(0, end).split("\n\n")) yield `${event}\n\n`;
            text = text.slice(end + 2);
          }
          if (text.length > MAX_EVENT_CHARACTERS) throw new Error("an event of another server has no end");
        }
      } finally {
        clearTimeout(silence);
        stopped.abort();
      }
    },
  };
}
