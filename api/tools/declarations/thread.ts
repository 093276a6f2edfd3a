import { stripTypeScriptTypes } from "node:module";
import { parentPort } from "node:worker_threads";
import { commentText } from "#kernel/tool-docs/doc-comment.ts";
import { type PrintOptions, printDefinitions } from "#kernel/tool-docs/print-types.ts";
import { joinSchemas, type ToolTypes } from "./joined-schemas.ts";

export interface DeclarationJob {
  namespace: string;
  tools: { id: string; description: string; input: string; output: string }[];
}
export type DeclarationAnswer = { text: string } | { failed: string };

const IN_NAMESPACE: PrintOptions = { indent: "  ", keyword: "export ", end: ";", gap: "\n" };
const MAX_DESCRIPTION_CHARACTERS = 400;

parentPort?.on("message", (job: DeclarationJob) => {
  parentPort?.postMessage(writeDeclarations(job));
});

function writeDeclarations({ namespace, tools }: DeclarationJob): DeclarationAnswer {
  try {
    const { definitions, tools: types } = joinSchemas(tools);
    const described = types.map((tool, index) => ({ tool, description: tools[index]?.description ?? "" }));
    const text = [
      `declare namespace ${namespace} {`,
      "  export interface Tools {",
      ...declareMembers(groupTools(described), "    "),
      "  }",
      printDefinitions(definitions, IN_NAMESPACE),
      "}",
      "",
    ].join("\n");
    // Text that does not parse here would not parse in an editor either.
    stripTypeScriptTypes(text);
    return { text };
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }
}

interface DescribedTool {
  tool: ToolTypes;
  description: string;
}
/** A name after a dot: a tool, a group of tools, or both. */
interface ToolNode {
  own?: DescribedTool;
  members: Map<string, ToolNode>;
}

function groupTools(tools: readonly DescribedTool[]): ToolNode["members"] {
  const root: ToolNode = { members: new Map() };
  for (const described of tools) {
    let node = root;
    for (const name of described.tool.id.split(".")) {
      const next: ToolNode = node.members.get(name) ?? { members: new Map() };
      node.members.set(name, next);
      node = next;
    }
    node.own = described;
  }
  return root.members;
}

function declareMembers(members: ToolNode["members"], indent: string): string[] {
  return [...members].flatMap(([name, { own, members: inner }]) => {
    if (inner.size === 0) return own === undefined ? [] : declareTool(name, own, indent);
    return [
      `${indent}readonly ${name}: {`,
      ...(own === undefined ? [] : declareTool("", own, `${indent}  `)),
      ...declareMembers(inner, `${indent}  `),
      `${indent}};`,
    ];
  });
}

/** An empty name declares the call signature of the node itself. */
function declareTool(name: string, { tool, description }: DescribedTool, indent: string): string[] {
  const { input, output, failure, isInputOptional } = tool;
  const text = commentText(description, MAX_DESCRIPTION_CHARACTERS);
  const lines = [text, failure === null ? "" : `@throws {${failure}}`].flatMap((part) =>
    part === "" ? [] : part.split("\n"),
  );
  const comment =
    lines.length === 0
      ? []
      : [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
  return [
    ...comment,
    `${indent}${name}(parameters${isInputOptional ? "?" : ""}: ${input}): Promise<${output}>;`,
  ];
}
