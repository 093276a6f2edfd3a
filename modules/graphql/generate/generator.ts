/**
 * A schema to tools, in a thread of its own with a bound on time and memory: a large schema takes a second, one that was
 * made to be slow takes for ever, and the server has other things to do.
 */

import { quoteForeign } from "#modules/shared/failures.ts";
import { createJobThread } from "#modules/shared/job-thread.ts";
import type { ToolDefinition } from "#sdk";
import { type FailureCode, GraphqlFailure } from "../failures.ts";
import type { Definition } from "./definition.ts";
import type { SelectionLimits } from "./selection.ts";

export interface GenerateJob {
  source: NonNullable<Definition["schema"]>;
  limits: SelectionLimits & { maxTools: number };
}

export interface Generated {
  description: string | null;
  /** Of the whole schema, without descriptions. */
  sdl: string;
  tools: ToolDefinition[];
}

export type GenerateAnswer =
  | { ok: true; made: Generated }
  | { ok: false; code: FailureCode; message: string };

const MAX_GENERATE_MS = 60_000;
const LIMITS = { maxHeapMb: 768, maxYoungHeapMb: 64, maxWaiting: 100, idleMs: 10_000 };

export interface Generator {
  /** @throws GraphqlFailure */
  generate(job: GenerateJob): Promise<Generated>;
  close(): Promise<void>;
}

export function createGenerator(): Generator {
  const thread = createJobThread<GenerateJob, GenerateAnswer>(
    new URL("./generation-thread.ts", import.meta.url),
    LIMITS,
  );
  return {
    async generate(job) {
      const end = await thread.run(job, MAX_GENERATE_MS, { endsThread: true });
      if (end.kind !== "answered") {
        throw new GraphqlFailure(
          "graphql_bad_definition",
          `The schema cannot be used: ${quoteForeign(end.message, 300)}.`,
        );
      }
      if (!end.answer.ok) throw new GraphqlFailure(end.answer.code, end.answer.message);
      return end.answer.made;
    },
    close: async () => thread[Symbol.asyncDispose](),
  };
}
