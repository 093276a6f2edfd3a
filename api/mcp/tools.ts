import type { CallToolResult, Tool, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { writeLineSignature } from "#kernel/tool-docs/line-signature.ts";
import { writeExampleCall } from "#kernel/tool-docs/tool-docs.ts";
import { AppError } from "../errors.ts";
import { rightsOf, type Scope } from "../http/auth.ts";
import type { ToolPath } from "../tools/contract.ts";
import { type ClientLink, followRun } from "./following.ts";
import { answerInvalid, answerRefusal, answerResult, answerRun, answerWith } from "./outcome.ts";
import type { McpPorts, RequestContext } from "./ports.ts";

interface Call {
  ports: McpPorts;
  context: RequestContext;
  link: ClientLink;
}

interface SurfaceTool<Input extends z.ZodType> {
  title: string;
  description: string;
  annotations: ToolAnnotations;
  scope: Scope | null;
  input: Input;
  perform(input: z.output<Input>, call: Call): Promise<CallToolResult>;
}

const MAX_SEARCH_LIMIT = 50;
const DEFAULT_SEARCH_LIMIT = 10;
const MAX_QUERY_CHARACTERS = 200;
const MAX_ID_CHARACTERS = 200;

const path = z
  .string()
  .max(2 * MAX_ID_CHARACTERS + 1)
  .regex(/^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*){1,8}$/, "expected service.tool, as search_tools answers it");

const runInput = z.strictObject({
  script: z.string().describe("TypeScript. Top-level await and return; the returned JSON is `value`."),
  timeoutMs: z.int().positive().nullable().optional().describe("Default 30000."),
  ref: z.string().optional().describe("A unique label."),
  // Accepts any JSON, because a JSON schema is recursive, which some models reject.
  input: z.unknown().optional().describe("JSON: `cyrnel.input`."),
  // Describes only the shape; the HTTP schema validates it with its own messages.
  files: z
    .record(z.string(), z.unknown().meta({ type: "object", properties: { text: {}, base64: {}, id: {} } }))
    .optional()
    .describe("Each {text}, {base64} or {id} of an upload."),
  name: z.string().optional().describe("Its name in `files`."),
});

const searchToolsInput = z.strictObject({
  query: z
    .string()
    .trim()
    .max(MAX_QUERY_CHARACTERS)
    .refine((text) => !text.includes("\0"), "must not contain a NUL character")
    .describe("Words; empty: all."),
  limit: z.int().min(1).max(MAX_SEARCH_LIMIT).default(DEFAULT_SEARCH_LIMIT),
  serviceId: z.string().max(MAX_ID_CHARACTERS).optional(),
});

const readToolInput = z.strictObject({ path: path.describe("service.tool") });

const resumeInput = z.strictObject({
  execution_id: z.string().max(MAX_ID_CHARACTERS).describe("`paused.executionId`"),
  approved: z.boolean(),
  // Like `input` above, validated by the HTTP schema.
  data: z.unknown().optional().describe("The approver's answer to the form."),
});

const resultInput = z.strictObject({ processId: z.int().positive().max(Number.MAX_SAFE_INTEGER) });

const readOnly: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
const changing: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, openWorldHint: true };

function define<Input extends z.ZodType>(tool: SurfaceTool<Input>): SurfaceTool<z.ZodType> {
  return tool as unknown as SurfaceTool<z.ZodType>;
}

const TOOLS: ReadonlyMap<string, SurfaceTool<z.ZodType>> = new Map([
  [
    "run",
    define({
      title: "Run a script",
      description:
        "Runs TypeScript in a sandbox: `await tools.<service>.<tool>(params)`, imports of npm packages.",
      annotations: { ...changing, idempotentHint: false },
      scope: "processes:write",
      input: runInput,
      async perform(input, { ports, context, link }) {
        const id = await ports.processes.submit(input, context);
        await followRun(ports, id, link, context);
        return answerRun(ports, id, context);
      },
    }),
  ],
  [
    "search_tools",
    define({
      title: "Search tools",
      description: "Finds tools and npm packages for scripts, best first. Say briefly what should be done.",
      annotations: readOnly,
      scope: null,
      input: searchToolsInput,
      async perform({ query, limit, serviceId }, { ports, context }) {
        const filter = { serviceId, effective: true };
        const page = { from: null, limit };
        const asker = rightsOf(context.caller);
        const { tools, next, services } =
          query === ""
            ? await ports.tools.list(filter, page, asker)
            : await ports.tools.search(query, filter, page, asker);
        const packages = serviceId === undefined && query !== "" ? ports.packages.search(asker, query) : [];
        return answerWith({
          ...(services && { note: packages.length > 0 ? ONLY_PACKAGES_FOUND : NOTHING_FOUND, services }),
          tools: tools.map((tool) => ({
            path: `${tool.serviceId}.${tool.id}`,
            name: tool.name,
            description: shorten(tool.description),
            destructive: tool.destructive,
            policy: tool.policy,
            ...(tool.signature !== undefined && { signature: tool.signature }),
          })),
          ...(next !== null && { more: true }),
          ...(packages.length > 0 && { packages }),
        });
      },
    }),
  ],
  [
    "read_tool",
    define({
      title: "Read a tool",
      description: "The schemas, TypeScript signature and an example of one tool.",
      annotations: readOnly,
      scope: null,
      input: readToolInput,
      async perform({ path }, { ports, context }) {
        const tool = await ports.tools.get(splitPath(path), rightsOf(context.caller));
        const { serviceId, id, name, description, destructive, policy, effectivelyEnabled } = tool;
        const { inputSchema, outputSchema } = tool;
        return answerWith({
          path: `${serviceId}.${id}`,
          name,
          description,
          destructive,
          policy,
          effectivelyEnabled,
          signature: writeLineSignature(inputSchema, outputSchema),
          example: writeExampleCall({ serviceId, toolId: id, inputSchema }),
          inputSchema,
          outputSchema,
        });
      },
    }),
  ],
  [
    "resume",
    define({
      title: "Decide an approval",
      description:
        "Passes an approver's decision to a paused run, if this key may, and waits for its outcome.",
      annotations: { ...changing, idempotentHint: true },
      scope: "approvals:decide",
      input: resumeInput,
      async perform({ execution_id: id, approved, data }, { ports, context, link }) {
        const decision = approved
          ? { approved, ...(data !== undefined && { data }) }
          : { approved, ...(typeof data === "string" && { reason: data }) };
        const approval = await ports.approvals.decide(id, decision, context);
        const decided = { id, state: approval.state, decidedBy: approval.decidedBy };
        if (!(await mayReadOutcome(approval.processId, ports, context))) {
          const next = "Reading the outcome needs a key with the scopes processes:read and processes:all.";
          return answerWith({ approval: decided, processId: approval.processId, next });
        }
        await followRun(ports, approval.processId, link, context, { answered: [id] });
        return answerRun(ports, approval.processId, context, { approval: decided });
      },
    }),
  ],
  [
    "result",
    define({
      title: "Read a run",
      description: "State, value, output, stdout, stderr and calls of a process; waits a while for its end.",
      annotations: readOnly,
      scope: "processes:read",
      input: resultInput,
      async perform({ processId }, { ports, context, link }) {
        await followRun(ports, processId, link, context, { asksPerson: false });
        return answerResult(ports, processId, context);
      },
    }),
  ],
]);

async function mayReadOutcome(
  id: number,
  { processes }: McpPorts,
  context: RequestContext,
): Promise<boolean> {
  if (!context.caller.scopes.has("processes:read")) return false;
  return processes.requireVisible(id, context).then(
    () => true,
    (error: unknown) => {
      if (error instanceof AppError && error.code === "not_found") return false;
      throw error;
    },
  );
}

export function listSurfaceTools({ caller }: RequestContext): Tool[] {
  return [...TOOLS]
    .filter(([, { scope }]) => scope === null || caller.scopes.has(scope))
    .map(([name, { title, description, annotations }]) => ({
      name,
      title,
      description,
      inputSchema: INPUT_SCHEMAS.get(name) as Tool["inputSchema"],
      annotations,
    }));
}

/** Returns null if no tool has this name. Never rejects: errors become part of the result. */
export async function callSurfaceTool(
  name: string,
  input: unknown,
  call: Call,
): Promise<CallToolResult | null> {
  const tool = TOOLS.get(name);
  if (tool === undefined) return null;
  const { ports, context } = call;
  const { requestId, caller } = context;
  try {
    if (tool.scope !== null && !caller.scopes.has(tool.scope)) {
      const message = `${name} needs a key with the scope ${tool.scope}. Ask an administrator for one.`;
      throw new AppError("forbidden", message);
    }
    const parsed = tool.input.safeParse(name === "run" ? asScript(input) : (input ?? {}));
    if (!parsed.success) return answerInvalid(name, parsed.error, requestId);
    return await tool.perform(parsed.data, call);
  } catch (error) {
    return answerRefusal(error, ports, requestId);
  }
}

/** Accepts `code` for the script too: HTTP uses that name, and models that know HTTP use it here. */
function asScript(input: unknown): unknown {
  const { code, ...rest } = (input ?? {}) as { code?: unknown; script?: unknown };
  return code === undefined || rest.script !== undefined ? (input ?? {}) : { ...rest, script: code };
}

const INPUT_SCHEMAS = new Map([...TOOLS].map(([name, { input }]) => [name, describeInput(input)]));

/**
 * Omits patterns, which the descriptions mention, and limits that no model reaches. The server still validates all of
 * them, but the model pays for every character.
 */
function describeInput(input: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: "input",
    override({ jsonSchema }) {
      delete jsonSchema.maxLength;
      delete jsonSchema.pattern;
      delete jsonSchema.propertyNames;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return schema;
}

const NEAREST = "These tools are the nearest by spelling; `services` lists all services.";
const NOTHING_FOUND = `Nothing was found. ${NEAREST}`;
const ONLY_PACKAGES_FOUND = `No tool was found; packages are those that fit, for a script to import. ${NEAREST}`;
const MAX_LISTED_CHARACTERS = 600;

function shorten(text: string): string {
  return text.length <= MAX_LISTED_CHARACTERS
    ? text
    : `${text.slice(0, MAX_LISTED_CHARACTERS).toWellFormed()}...`;
}

function splitPath(path: string): ToolPath {
  const dot = path.indexOf(".");
  return { serviceId: path.slice(0, dot), toolId: path.slice(dot + 1) };
}
