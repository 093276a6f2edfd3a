/** Thread entry: a schema to tools. */
import { parentPort } from "node:worker_threads";
import { GraphqlFailure, messageOf } from "../failures.ts";
import { loadSchema } from "./definition.ts";
import type { GenerateAnswer, GenerateJob } from "./generator.ts";
import { makeTools } from "./tools.ts";

parentPort?.on("message", (job: GenerateJob) => parentPort?.postMessage(generate(job)));

function generate({ source, limits }: GenerateJob): GenerateAnswer {
  try {
    const { schema, sdl } = loadSchema(source);
    return {
      ok: true,
      made: { description: schema.description ?? null, sdl, tools: makeTools(schema, limits) },
    };
  } catch (error) {
    if (error instanceof GraphqlFailure) return { ok: false, code: error.code, message: error.message };
    return {
      ok: false,
      code: "graphql_bad_definition",
      message: `The schema cannot be used: ${messageOf(error)}`,
    };
  }
}
