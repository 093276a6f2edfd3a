/**
 * Parses request bodies over 1 MiB, which few routes accept (for service definitions), in a worker thread: a 30 MiB
 * document must not block other requests. The thread returns almost only strings, because transferring other data
 * would cost this thread as much as parsing it.
 */

import { AppError } from "#api/errors.ts";
import { createJobThread } from "#modules/shared/job-thread.ts";

export type LargeJsonAnswer = { ok: true; value: Record<string, unknown> } | { ok: false; problem: string };

export interface LargeJson extends AsyncDisposable {
  parse(bytes: Buffer): Promise<Record<string, unknown>>;
}

export const MAX_BODY_DEPTH = 100;
const MAX_PARSE_MS = 20_000;
/** Heap for the body, its text at two bytes per character, and the parsed result. */
const THREAD_LIMITS = { maxHeapMb: 768, idleMs: 5000, maxWaiting: 8 };

export function createLargeJson(): LargeJson {
  const thread = createJobThread<Uint8Array, LargeJsonAnswer>(
    new URL("./large-thread.ts", import.meta.url),
    THREAD_LIMITS,
  );
  return {
    async parse(bytes) {
      const end = await thread.run(bytes, MAX_PARSE_MS);
      if (end.kind === "answered" && end.answer.ok) return end.answer.value;
      if (end.kind === "busy") {
        throw new AppError(
          "limit_reached",
          `${THREAD_LIMITS.maxWaiting} large request bodies are being read already. Try again.`,
        );
      }
      const problem =
        end.kind === "answered" && !end.answer.ok
          ? end.answer.problem
          : "The request body could not be read: it takes too much time or memory.";
      throw new AppError("invalid_json", problem);
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}
