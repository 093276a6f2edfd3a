/**
 * The documentation of one tool, as Markdown for the author of a script: what it does, an example call, its types.
 * Everything in a tool's definition comes from outside; it is quoted so that it cannot break the document's structure.
 */
import { IDENTIFIER_PATTERN, type ToolDocsInput } from "#sdk";
import { commentText } from "./doc-comment.ts";
import { buildExampleParameters, printLiteral } from "./example-value.ts";
import { asParameters, makePlainSchema, type PlainSchema } from "./plain-schema.ts";
import { type PrintOptions, printDefinitions } from "./print-types.ts";

const maxDescriptionChars = 8000;

/** Builds the Markdown that a script gets from `cyrnel.getToolDocs`. Bounded in time and size; does not reject. */
export async function generateToolDocs(input: ToolDocsInput): Promise<string> {
  const toolMembers = input.toolId.split(".").map(member).join("");
  const path = `tools${member(input.serviceId)}${toolMembers}`;
  const declarations = declareTypes(input.inputSchema, input.outputSchema);
  const description = commentText(input.description, maxDescriptionChars);
  const sections = [
    `# ${path}`,
    quote(description),
    "## Example",
    fence(`const result = ${writeExampleCall(input)};\nreturn result;`),
    `The same call: \`cyrnel.services${member(input.serviceId)}.tools${toolMembers}.invoke(params)\`. A failed call rejects with an \`Error\` (\`message\`, \`code\`, sometimes \`status\`).`,
    "## Types",
    fence(`${declareTool(input, description)}\n\n${declarations}`),
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

/** A call as a script makes it: `await tools.service.tool({ ... })`. */
export function writeExampleCall(tool: Pick<ToolDocsInput, "serviceId" | "toolId" | "inputSchema">): string {
  const path = [tool.serviceId, ...tool.toolId.split(".")].map(member).join("");
  return `await tools${path}(${printLiteral(buildExampleParameters(tool.inputSchema))})`;
}

function declareTool(input: ToolDocsInput, description: string): string {
  const comment =
    description === ""
      ? []
      : ["/**", ...description.split("\n").map((line) => ` * ${line}`.trimEnd()), " */"];
  const groups = [input.serviceId, ...input.toolId.split(".")];
  const name = groups.pop() ?? "";
  const indent = (depth: number) => "  ".repeat(depth);
  return [
    "declare const tools: {",
    ...groups.map((group, index) => `${indent(index + 1)}${key(group)}: {`),
    ...[...comment, `${key(name)}(params: Input): Promise<Output>`].map(
      (line) => `${indent(groups.length + 1)}${line}`,
    ),
    ...groups.map((_, index) => `${indent(groups.length - index)}}`),
    "}",
  ].join("\n");
}

/** Names that generated declarations must leave alone. */
const RESERVED_NAMES = "Input Output Array Object Promise Record String Number Boolean Function Symbol".split(
  " ",
);
const IN_FENCE: PrintOptions = { indent: "", keyword: "", end: "", gap: "\n\n" };
const MAX_DECLARATION_CHARACTERS = 200_000;
const UNKNOWN_TYPES = `/** The tool's schema is too large to be shown as a type: see \`cyrnel.getTool\` for the schema itself. */
type Input = Record<string, unknown>

type Output = unknown`;

/** `Input` and `Output` with what they refer to. */
function declareTypes(inputSchema: unknown, outputSchema: unknown): string {
  const usedNames = new Set(RESERVED_NAMES);
  const input = asParameters(makePlainSchema(inputSchema, usedNames));
  const output = makePlainSchema(outputSchema, usedNames);
  const text = [declareRoot("Input", input), declareRoot("Output", output)].join("\n\n");
  return text.length > MAX_DECLARATION_CHARACTERS ? UNKNOWN_TYPES : text;
}

function declareRoot(name: string, { $defs = {}, ...root }: PlainSchema): string {
  return printDefinitions({ [name]: root, ...$defs }, IN_FENCE);
}

function member(name: string): string {
  return IDENTIFIER_PATTERN.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function key(name: string): string {
  return IDENTIFIER_PATTERN.test(name) ? name : JSON.stringify(name);
}

/** A block quote closes the fences, lists and HTML a description opens. */
function quote(text: string): string {
  if (text === "") return "";
  return text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}

/** A fence longer than any run of backticks inside it. */
function fence(code: string): string {
  const longest = Math.max(2, ...(code.match(/`+/g) ?? []).map((run) => run.length));
  const ticks = "`".repeat(longest + 1);
  return `${ticks}ts\n${code}\n${ticks}`;
}
