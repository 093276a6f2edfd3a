/**
 * Definitions are made in a thread of their own, one document at a time: a document that takes all memory or all time
 * takes its thread with it, and the server goes on answering meanwhile. A thread that read small ones only is kept a while.
 */
import { quoteForeign } from "#modules/shared/failures.ts";
import { createJobThread } from "#modules/shared/job-thread.ts";
import { type ServiceDefinition, serviceDefinitionSchema } from "#sdk";
import { DocumentError } from "../failures.ts";
import type { Bytes, GenerationAnswer, GenerationJob } from "./generation-thread.ts";

export const GENERATION_LIMITS = {
  maxHeapMb: 384,
  /** Kept small: what is read is thrown away soon, and the server's peak memory is with it. */
  maxYoungHeapMb: 8,
  maxRunMs: 30_000,
  maxWaiting: 100,
  maxKeptTextChars: 1024 * 1024,
  idleMs: 10_000,
} as const;

export interface Generator {
  /** `filter`: `operationFilter` of the service. @throws DocumentError with a message for the person who installs. */
  generate(text: string, filter?: unknown): Promise<ServiceDefinition>;
  close(): Promise<void>;
}

export function createGenerator(): Generator {
  const thread = createJobThread<GenerationJob, GenerationAnswer>(
    new URL("./generation-thread.ts", import.meta.url),
    GENERATION_LIMITS,
  );
  return {
    async generate(text, filter) {
      // As bytes that change hands: a text would be copied twice, at two bytes for each character.
      const document = new TextEncoder().encode(text);
      const end = await thread.run({ document, filter }, GENERATION_LIMITS.maxRunMs, {
        transfer: [document.buffer],
        endsThread: text.length > GENERATION_LIMITS.maxKeptTextChars,
      });
      if (end.kind !== "answered") {
        throw new DocumentError(
          `The document could not be read: ${end.message}.${ADVICE.get(end.kind) ?? ""}`,
        );
      }
      if ("refused" in end.answer) throw new DocumentError(quoteForeign(end.answer.refused));
      return readDefinition(end.answer);
    },
    close: async () => thread[Symbol.asyncDispose](),
  };
}

const ADVICE = new Map([
  ["memory", " Leave operations out."],
  ["busy", " Try again later."],
]);

function readDefinition({ service, tools }: { service: Bytes; tools: Bytes[] }): ServiceDefinition {
  const parse = (bytes: Bytes): object => JSON.parse(new TextDecoder().decode(bytes));
  return serviceDefinitionSchema.parse({ ...parse(service), tools: tools.map(parse) });
}
