/**
 * Writes a tool's documentation as Markdown for script authors: description, example call, types. Definitions are
 * foreign text, quoted so that they cannot break the document's structure.
 */
import { IDENTIFIER_PATTERN, type ToolDocsInput } from "#sdk";
import { commentText } from "./doc-comment.ts";
import { buildExampleParameters, printLiteral } from "./example-value.ts";
import { asParameters, makePlainFailures, makePlainSchema, type PlainSchema } from "./plain-schema.ts";
import { type PrintOptions, printDefinitions } from "./print-types.ts";

const maxDescriptionChars = 8000;

/** Returns the Markdown for `cyrnel.getToolDocs`. Limited in time and size; does not reject. */
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

const RESERVED_NAMES =
  "Input Output Failure Array Object Promise Record String Number Boolean Function Symbol".split(" ");
const IN_FENCE: PrintOptions = { indent: "", keyword: "", end: "", gap: "\n\n" };
const MAX_DECLARATION_CHARACTERS = 200_000;
const UNKNOWN_TYPES = `/** The tool's schema is too large to be shown as a type: see \`cyrnel.getTool\` for the schema itself. */
type Input = Record<string, unknown>

type Output = unknown`;

/**
 * Declares `Input`, `Output` and, if the schema describes failures, `Failure`, together with the types they refer to.
 */
function declareTypes(inputSchema: unknown, outputSchema: unknown): string {
  const usedNames = new Set(RESERVED_NAMES);
  const input = asParameters(makePlainSchema(inputSchema, usedNames));
  const output = makePlainSchema(outputSchema, usedNames);
  const failure = makePlainFailures(outputSchema, usedNames);
  const text = [
    declareRoot("Input", input),
    declareRoot("Output", output),
    ...(failure === null ? [] : [declareRoot("Failure", failure)]),
  ].join("\n\n");
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

/** Quotes the text, because a block quote closes fences, lists and HTML that a description opens. */
function quote(text: string): string {
  if (text === "") return "";
  return text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}

function fence(code: string): string {
  const longest = Math.max(2, ...(code.match(/`+/g) ?? []).map((run) => run.length));
  const ticks = "`".repeat(longest + 1);
  return `${ticks}ts\n${code}\n${ticks}`;
}
