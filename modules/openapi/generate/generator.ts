/**
 * Definitions are made in a thread of their own, one document at a time: a document that takes all memory or all time
 * takes its thread with it, and the server goes on answering meanwhile. A thread that read small ones only is kept a while.
 */
import { Worker } from "node:worker_threads";
import { type ServiceDefinition, serviceDefinitionSchema } from "#sdk";
import { DocumentError } from "./document-error.ts";
import type { Bytes, GenerationAnswer, GenerationJob } from "./generation-thread.ts";

export const GENERATION_LIMITS = {
  maxThreadHeapMb: 384,
  /** Kept small: what is read is thrown away soon, and the server's peak memory is with it. */
  maxThreadYoungMb: 8,
  maxRunMs: 30_000,
  maxWaiting: 100,
  maxKeptTextChars: 1024 * 1024,
  idleThreadMs: 10_000,
} as const;

export interface Generator {
  /** `filter`: `operationFilter` of the service. @throws DocumentError with a message for the person who installs. */
  generate(text: string, filter?: unknown): Promise<ServiceDefinition>;
  close(): Promise<void>;
}

export function createGenerator(): Generator {
  /** Without what came of it: a definition is large. */
  let last: Promise<undefined> = Promise.resolve(undefined);
  let waiting = 0;
  let thread: Worker | null = null;
  let idleTimer: NodeJS.Timeout | undefined;
  const stopping = new AbortController();

  async function takeTurn(text: string, filter: unknown): Promise<ServiceDefinition> {
    stopping.signal.throwIfAborted();
    clearTimeout(idleTimer);
    thread ??= startThread();
    thread.ref();
    let isReusable = false;
    let answer: Outcome;
    try {
      answer = await ask(thread, text, filter, stopping.signal);
      isReusable = !("broken" in answer) && text.length <= GENERATION_LIMITS.maxKeptTextChars;
    } finally {
      // Before its answer is parsed: what the thread holds of a large document is not needed at the same time.
      if (isReusable) restThread(thread);
      else await endThread();
    }
    if ("service" in answer) return readDefinition(answer);
    throw new DocumentError("broken" in answer ? answer.broken : answer.refused);
  }

  function restThread(rested: Worker): void {
    rested.unref();
    idleTimer = setTimeout(() => void endThread(), GENERATION_LIMITS.idleThreadMs);
    idleTimer.unref();
  }

  async function endThread(): Promise<void> {
    const ended = thread;
    thread = null;
    await ended?.terminate();
  }

  return {
    generate(text, filter) {
      if (waiting >= GENERATION_LIMITS.maxWaiting) {
        return Promise.reject(new Error("Too many documents are being read. Try again later."));
      }
      waiting += 1;
      const turn = last.then(() => takeTurn(text, filter));
      last = turn.then(
        () => undefined,
        () => undefined,
      );
      return turn.finally(() => {
        waiting -= 1;
      });
    },
    async close() {
      stopping.abort(new Error("The adapter is being stopped."));
      clearTimeout(idleTimer);
      await last;
      await endThread();
    },
  };
}

function startThread(): Worker {
  const thread = new Worker(new URL("./generation-thread.ts", import.meta.url), {
    env: {},
    execArgv: ["--no-warnings"],
    resourceLimits: {
      maxYoungGenerationSizeMb: GENERATION_LIMITS.maxThreadYoungMb,
      maxOldGenerationSizeMb: GENERATION_LIMITS.maxThreadHeapMb,
    },
  });
  // Whoever waits is told; one that comes while the thread is being ended is nobody's.
  return thread.on("error", () => undefined);
}

function readDefinition({ service, tools }: { service: Bytes; tools: Bytes[] }): ServiceDefinition {
  const parse = (bytes: Bytes): object => JSON.parse(new TextDecoder().decode(bytes));
  return serviceDefinitionSchema.parse({ ...parse(service), tools: tools.map(parse) });
}

/** `broken`: the thread is of no use any more. */
type Outcome = GenerationAnswer | { broken: string };

async function ask(thread: Worker, text: string, filter: unknown, stop: AbortSignal): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const onError = (error: Error & { code?: string }) =>
    resolve({
      broken:
        error.code === "ERR_WORKER_OUT_OF_MEMORY"
          ? `The document takes more than ${GENERATION_LIMITS.maxThreadHeapMb} MiB of memory to read. Leave operations out.`
          : `The document could not be read: ${error.message}`,
    });
  const onExit = () => resolve({ broken: "The document could not be read: its thread ended." });
  const onStop = () => reject(stop.reason);
  const deadline = setTimeout(
    () => resolve({ broken: `The document could not be read within ${GENERATION_LIMITS.maxRunMs} ms.` }),
    GENERATION_LIMITS.maxRunMs,
  );
  thread.once("message", resolve);
  thread.once("error", onError);
  thread.once("exit", onExit);
  stop.addEventListener("abort", onStop, { once: true });
  // As bytes that change hands: a text would be copied twice, at two bytes for each character.
  const document = new TextEncoder().encode(text);
  thread.postMessage({ document, filter } satisfies GenerationJob, [document.buffer]);
  try {
    return await promise;
  } finally {
    clearTimeout(deadline);
    stop.removeEventListener("abort", onStop);
    thread.off("message", resolve).off("exit", onExit).off("error", onError);
  }
}
