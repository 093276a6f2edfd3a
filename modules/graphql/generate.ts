/**
 * A schema to tools, in a thread of its own with a bound on time and memory: a large schema takes a second, one that was
 * made to be slow takes for ever, and the server has other things to do.
 */
import { Worker } from "node:worker_threads";
import type { ToolDefinition } from "#sdk";
import type { Definition } from "./definition.ts";
import { type FailureCode, GraphqlFailure, quoteForeign } from "./failures.ts";
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
const MAX_THREAD_HEAP_MB = 768;

let last: Promise<unknown> = Promise.resolve();

/** One at a time. @throws GraphqlFailure */
export function generate(job: GenerateJob): Promise<Generated> {
  const made = last.then(() => run(job));
  // Without what came of it: that may be large.
  last = made.then(
    () => {},
    () => {},
  );
  return made;
}

async function run(job: GenerateJob): Promise<Generated> {
  const worker = new Worker(new URL("./generate-worker.ts", import.meta.url), {
    env: {},
    execArgv: ["--no-warnings"],
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: MAX_THREAD_HEAP_MB, maxYoungGenerationSizeMb: 64 },
  });
  const { promise, resolve, reject } = Promise.withResolvers<GenerateAnswer>();
  const refuse = (problem: string) =>
    reject(new GraphqlFailure("graphql_bad_definition", `The schema cannot be used: ${problem}.`));
  const deadline = setTimeout(
    () => refuse(`it takes longer than ${MAX_GENERATE_MS} ms to read`),
    MAX_GENERATE_MS,
  );
  worker.once("message", resolve);
  worker.once("error", (error: Error & { code?: string }) =>
    refuse(
      error.code === "ERR_WORKER_OUT_OF_MEMORY"
        ? `it takes more than ${MAX_THREAD_HEAP_MB} MB to read`
        : quoteForeign(error.message, 300),
    ),
  );
  worker.once("exit", () => refuse("the thread that read it ended"));
  try {
    const answer = await promise;
    if (answer.ok) return answer.made;
    throw new GraphqlFailure(answer.code, answer.message);
  } finally {
    clearTimeout(deadline);
    await worker.terminate();
  }
}
