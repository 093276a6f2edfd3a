/** Generates a service definition from a document. Pure. */

import { defined, type Fields, isRecord, own, ownList, ownRecord, ownText } from "#kernel/foreign-json.ts";
import type { JSONSchema, ServiceDefinition, ToolDefinition } from "#sdk";
import type { SecurityPlan, ServerPlan, ServiceDomain, ToolDomain } from "../domain.ts";
import { DocumentError } from "../failures.ts";
import { readRequestBody, type SchemaTables } from "./bodies.ts";
import { filterOperations } from "./operation-filter.ts";
import { createIds, isDestructive, listOperations, type Operation } from "./operations.ts";
import { describeOutput } from "./output-schema.ts";
import { type Parameters, readParameters, type TakenByCredentials } from "./parameters.ts";
import { BASE_KEY, type ReadDocument } from "./read-document.ts";
import { createReferences, type References } from "./schemas/references.ts";
import { createDefinitionNames, createSchemaTable } from "./schemas/schema-table.ts";
import { type DocumentSecurity, readRequirements, readSecurity } from "./security.ts";
import { describeConfig, readServer } from "./servers.ts";

const SIZE_BUDGET = {
  maxInputBytes: 64 * 1024 * 1024,
  maxOutputBytes: 16 * 1024 * 1024,
  inputBytesPerTool: { min: 4 * 1024, max: 256 * 1024 },
  outputBytesPerTool: { min: 1024, max: 24 * 1024 },
} as const;
const MAX_TEXT_CHARS = 10_000;

interface Context {
  document: Fields;
  references: References;
  tables: SchemaTables;
  security: DocumentSecurity;
  inputBytes: number;
  outputBytes: number;
}

/**
 * `filter` is the service's `operationFilter`. @throws DocumentError if the document or the filter is invalid
 */
export async function generateDefinition(read: ReadDocument, filter?: unknown): Promise<ServiceDefinition> {
  const { document, refsStandAlone } = read;
  const references = await createReferences(document);
  // Assigns ids before filtering, so that the filter never changes those of other operations.
  const idOf = createIds();
  const problems: string[] = [];
  const all = listOperations(document, references, problems).map((operation) => ({
    operation,
    id: idOf(operation),
  }));
  const kept = filterOperations(all, filter);
  const operations = kept.map(({ operation }) => operation);
  const source = { references, refsStandAlone, names: createDefinitionNames() };
  const security = readSecurity(
    document,
    references,
    operations.map(({ operation }) => operation),
  );
  const { inputBytesPerTool, outputBytesPerTool, maxInputBytes, maxOutputBytes } = SIZE_BUDGET;
  const context: Context = {
    document,
    references,
    security,
    tables: {
      request: createSchemaTable("request", source),
      form: createSchemaTable("form", source),
      response: createSchemaTable("response", source),
    },
    inputBytes: clamp(maxInputBytes / (operations.length || 1), inputBytesPerTool),
    outputBytes: clamp(maxOutputBytes / (operations.length || 1), outputBytesPerTool),
  };
  const base = ownText(document, BASE_KEY);
  const server = readServer(own(document, "servers"), base) ?? { url: "/", ...defined({ base }) };
  const domain: ServiceDomain = {
    version: 1,
    server,
    schemes: security.schemes,
    security: security.security,
  };
  const info = ownRecord(document, "info");
  const tools = describeTools(kept, context, problems);
  return {
    name: ownText(info, "title")?.slice(0, 200) || "API",
    description: (ownText(info, "description") ?? "").slice(0, MAX_TEXT_CHARS),
    configSchema: describeConfig(server, document, [
      own(document, "servers"),
      ...operations.flatMap(({ item, operation }) => [own(item, "servers"), own(operation, "servers")]),
    ]),
    secretsSchema: security.secretsSchema,
    tools,
    problems,
    adapterDomain: domain,
  };
}

function describeTools(
  kept: readonly { id: string; operation: Operation }[],
  context: Context,
  problems: string[],
): ToolDefinition[] {
  const tools: ToolDefinition[] = [];
  for (const { operation, id } of kept) {
    try {
      tools.push(describeTool(id, operation, context));
    } catch (error) {
      const reason =
        error instanceof RangeError
          ? "It is nested too deeply, or its references are."
          : (error as Error).message;
      problems.push(`${operation.method.toUpperCase()} ${operation.path} (${id}) is left out. ${reason}`);
    }
  }
  if (tools.length === 0 && problems.length > 0) {
    throw new DocumentError(`None of the document's operations can be read. ${problems[0]}`);
  }
  return tools;
}

function describeTool(id: string, described: Operation, context: Context): ToolDefinition {
  const { operation, item, method } = described;
  const { references, tables } = context;
  const { path, staticQuery } = splitPath(described.path);
  const declaredSecurity = readRequirements(own(operation, "security"));
  const parameters = readParameters(
    path,
    [...ownList(item, "parameters"), ...ownList(operation, "parameters")],
    takenByCredentials(declaredSecurity ?? context.security.security, context.security),
    tables.request,
    references,
  );
  // The fetch standard sends no body with these methods, and OpenAPI defines none.
  const body =
    method === "get" || method === "head" ? undefined : readRequestBody(operation, tables, references);
  const output = describeOutput(operation, tables.response, references, { maxBytes: context.outputBytes });
  const domain: ToolDomain = {
    method: method.toUpperCase(),
    path,
    parameters: parameters.plans,
    accept: output.accept,
    ...defined({
      staticQuery,
      body: body?.plan,
      security: declaredSecurity,
      server: serverOf(item, operation, ownText(context.document, BASE_KEY)),
    }),
  };
  return {
    id,
    name: ownText(operation, "summary")?.trim().slice(0, 200) || id,
    description: describeOperation(operation),
    inputSchema: (body?.table ?? tables.request).complete(
      describeInput(parameters, body),
      context.inputBytes,
    ),
    outputSchema: output.schema,
    adapterDomain: domain,
    destructive: isDestructive(described),
  };
}

/** Some documents distinguish operations on one path by a query or fragment in the path. */
function splitPath(declared: string): { path: string; staticQuery: string | undefined } {
  const [beforeFragment = ""] = declared.split("#", 1);
  const mark = beforeFragment.indexOf("?");
  const path = mark === -1 ? beforeFragment : beforeFragment.slice(0, mark);
  const query = mark === -1 ? "" : beforeFragment.slice(mark + 1);
  return { path: path.startsWith("/") ? path : `/${path}`, staticQuery: query === "" ? undefined : query };
}

function serverOf(item: Fields, operation: Fields, base: string | undefined): ServerPlan | undefined {
  return readServer(own(operation, "servers"), base) ?? readServer(own(item, "servers"), base);
}

function takenByCredentials(security: SecurityPlan, { schemes }: DocumentSecurity): TakenByCredentials {
  const used = new Set(security.flat().map(({ scheme }) => scheme));
  const keys = schemes.filter((scheme) => scheme.kind === "apiKey" && used.has(scheme.name));
  return (place, name) =>
    keys.some(
      (key) =>
        key.kind === "apiKey" &&
        key.in === place &&
        (place === "header" ? key.parameter.toLowerCase() === name.toLowerCase() : key.parameter === name),
    );
}

function describeInput(parameters: Parameters, body: ReturnType<typeof readRequestBody>): JSONSchema {
  const properties: JSONSchema = { ...parameters.slots };
  const required = [...parameters.required];
  if (body !== undefined) {
    properties.body = isRecord(body.schema) ? body.schema : {};
    if (body.required) required.push("body");
  }
  return {
    type: "object",
    properties,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

function describeOperation(operation: Fields): string {
  const description = (ownText(operation, "description") ?? "").trim();
  const text = description.slice(0, MAX_TEXT_CHARS);
  if (own(operation, "deprecated") !== true) return text;
  return text === "" ? "Deprecated." : `Deprecated. ${text}`;
}

function clamp(value: number, { min, max }: { min: number; max: number }): number {
  return Math.floor(Math.min(Math.max(value, min), max));
}
