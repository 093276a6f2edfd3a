/** Thread entry: the declarations of one service. The parent ends the thread when its time is up. */
import { stripTypeScriptTypes } from "node:module";
import { parentPort } from "node:worker_threads";
import { commentText } from "#runner/docs/doc-comment.ts";
import { joinSchemas, type ToolTypes } from "./joined-schemas.ts";
import { printDefinitions } from "./print-types.ts";

export interface DeclarationJob {
  /** Name of the namespace. */
  namespace: string;
  tools: { id: string; description: string; input: string; output: string }[];
}
export type DeclarationAnswer = { text: string } | { failed: string };

const MAX_DESCRIPTION_CHARACTERS = 400;

parentPort?.on("message", (job: DeclarationJob) => {
  parentPort?.postMessage(writeDeclarations(job));
});

function writeDeclarations({ namespace, tools }: DeclarationJob): DeclarationAnswer {
  try {
    const { definitions, tools: types, aliases } = joinSchemas(tools);
    const methods = types.map((tool, index) => declareTool(tool, tools[index]?.description ?? ""));
    const text = [
      `declare namespace ${namespace} {`,
      "  export interface Tools {",
      ...methods,
      "  }",
      printDefinitions(definitions, aliases),
      "}",
      "",
    ].join("\n");
    // What it refuses an editor would refuse as well.
    stripTypeScriptTypes(text);
    return { text };
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }
}

function declareTool({ id, input, output, isInputOptional }: ToolTypes, description: string): string {
  const lines = commentText(description, MAX_DESCRIPTION_CHARACTERS).split("\n");
  const comment =
    lines[0] === "" ? [] : ["    /**", ...lines.map((line) => `     * ${line}`.trimEnd()), "     */"];
  return [
    ...comment,
    `    ${id}(parameters${isInputOptional ? "?" : ""}: ${input}): Promise<${output}>;`,
  ].join("\n");
}
