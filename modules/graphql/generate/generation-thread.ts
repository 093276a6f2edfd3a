/** Thread entry: converts a schema to tools. */
import { parentPort } from "node:worker_threads";
import type { ToolDefinition } from "#sdk";
import { type FailureCode, GraphqlFailure, messageOf } from "../failures.ts";
import { type Definition, loadSchema } from "./definition.ts";
import type { SelectionLimits } from "./selection.ts";
import { makeTools } from "./tools.ts";

export interface GenerateJob {
  source: NonNullable<Definition["schema"]>;
  limits: SelectionLimits & { maxTools: number };
}

export interface Generated {
  description: string | null;
  sdl: string;
  tools: ToolDefinition[];
}

export type GenerateAnswer =
  | { ok: true; made: Generated }
  | { ok: false; code: FailureCode; message: string };

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
