/** Tools of a local runtime: lookup, visibility by role, search and descriptions. */
import { writeLineSignature } from "#kernel/tool-docs/line-signature.ts";
import { findPatternProblem } from "#kernel/tool-patterns.ts";
import type { ToolIndex } from "#kernel/tool-search/tool-index.ts";
import { compileRole, type Visibility } from "#kernel/tool-visibility.ts";
import {
  type DiscoverServices,
  type DiscoverTools,
  IDENTIFIER_PATTERN,
  type ServiceDetails,
  type ServiceSummary,
  TOOL_ID_PATTERN,
  type ToolDetails,
  type ToolSummary,
} from "#sdk";
import type { FoundTool, LocalOptions, LocalTool, ToolFunction, ToolTree } from "../kernel/local-model.ts";
import { toolError, unknownTool } from "../kernel/proxy.ts";
import { FETCH_PATH } from "./fetch.ts";

export interface Catalog {
  /** Returns the function behind the script's `fetch`. @throws Error if it does not exist or the role hides it */
  findFetch(): LocalTool & { invoke: ToolFunction };
  /** Returns the paths of the tools that the role allows. */
  paths(): string[];
  /** True if any tool has an inputSchema. */
  readonly hasSchemas: boolean;
  /** @throws Error with code `not_found`, the same for a missing tool and one the role hides */
  find(serviceId: string, toolId: string): LocalTool & { invoke: ToolFunction };
  discoverTools(query: DiscoverTools): Promise<ToolSummary[]>;
  discoverServices(query: DiscoverServices): Promise<ServiceSummary[]>;
  getService(id: string): Promise<ServiceDetails>;
  getTool(serviceId: string, toolId: string): Promise<ToolDetails>;
}

const EVERYTHING: Visibility = { sees: () => true };
const DEFAULT_LIMIT = 50;
const MAX_NEAREST = 5;

/** @throws TypeError for malformed tools or patterns */
export function createCatalog(options: LocalOptions): Catalog {
  const { invoke, searchTools, describeTools } = options;
  const tools = readTools(options.tools, invoke !== undefined);
  const fetchTool = tools.get(FETCH_PATH);
  tools.delete(FETCH_PATH);
  const role = readRole(options.role);
  const isOpen = options.tools === undefined && invoke !== undefined;
  const sees = ({ path }: { path: string }) => role.sees(...splitPath(path));
  const shown = () => [...tools.values()].filter(sees);

  function find(serviceId: string, toolId: string): LocalTool & { invoke: ToolFunction } {
    const path = `${serviceId}.${toolId}`;
    const isNamed = IDENTIFIER_PATTERN.test(serviceId) && TOOL_ID_PATTERN.test(toolId);
    const tool = tools.get(path) ?? (isOpen && isNamed ? { path } : undefined);
    if (!isNamed || tool === undefined || !role.sees(serviceId, toolId)) {
      throw unknownTool(path, new Set(shown().map((other) => other.path)));
    }
    return withFunction(tool);
  }

  function withFunction(tool: LocalTool): LocalTool & { invoke: ToolFunction } {
    const call: ToolFunction = tool.invoke ?? ((args, context) => invoke?.(tool.path, args, context));
    return { ...tool, invoke: call };
  }

  function findFetch(): LocalTool & { invoke: ToolFunction } {
    const tool = fetchTool ?? (isOpen ? { path: FETCH_PATH } : undefined);
    if (tool !== undefined && role.sees(FETCH_PATH, "")) return withFunction(tool);
    throw toolError(
      "no_rule",
      "fetch is not available: a run without a server has no rules that allow requests. The program that runs it can give it a function fetch (cyrnel run --local --tools <module that exports fetch>), or call tools: tools.search({query}) lists what there is.",
      404,
    );
  }

  async function describe(path: string): Promise<LocalTool> {
    const tool = find(...splitPath(path));
    return describeTools === undefined ? tool : { ...tool, ...(await describeTools(path)), path };
  }

  async function search(query: DiscoverTools): Promise<FoundTool[]> {
    const found = await (searchTools ?? findOwn)(query);
    return found.filter(({ serviceId, id }) => role.sees(serviceId, id));
  }

  let indexing: Promise<ToolIndex> | null = null;

  async function findOwn({ query = "", serviceId }: DiscoverTools): Promise<ToolSummary[]> {
    const isAsked = (tool: { serviceId: string; id: string }) =>
      (serviceId === undefined || tool.serviceId === serviceId) && role.sees(tool.serviceId, tool.id);
    if (query.trim() === "") return shown().map(summarize).filter(isAsked);
    indexing ??= indexTools(tools);
    const index = await indexing;
    const found = index.search(query, isAsked, { after: null, limit: tools.size });
    const listed = found.length > 0 ? found : index.findNearest(query, isAsked, MAX_NEAREST);
    return listed.map(({ serviceId: service, id, score }) => {
      const tool = tools.get(`${service}.${id}`) as LocalTool;
      return {
        ...summarize(tool),
        score,
        signature: writeLineSignature(tool.inputSchema, tool.outputSchema),
      };
    });
  }

  return {
    paths: () => shown().map(({ path }) => path),
    hasSchemas: [...tools.values()].some(({ inputSchema }) => inputSchema !== undefined),
    find,
    findFetch,
    async discoverTools(query) {
      const found = await search(query);
      return found.slice(0, query.limit ?? DEFAULT_LIMIT).map((tool) => ({
        ...tool,
        path: `${tool.serviceId}.${tool.id}`,
      }));
    },
    async discoverServices({ query, limit = DEFAULT_LIMIT }) {
      const found = await search(query === undefined ? {} : { query });
      const ids = [...new Set(found.filter(({ score }) => score !== 0).map(({ serviceId }) => serviceId))];
      return ids.slice(0, limit).map((id) => ({ id, name: id, description: "" }));
    },
    async getService(id) {
      const found = await search({ serviceId: id });
      const own = found.filter(({ serviceId }) => serviceId === id);
      if (own.length === 0) throw toolError("not_found", `There is no service ${id}.`, 404);
      const summaries = own.map(({ id: toolId, name, description }) => ({ id: toolId, name, description }));
      return { id, name: id, description: "", tools: summaries };
    },
    async getTool(serviceId, toolId) {
      const { inputSchema, outputSchema, destructive, ...tool } = await describe(`${serviceId}.${toolId}`);
      return {
        ...summarize(tool),
        inputSchema: inputSchema ?? { type: "object" },
        outputSchema: outputSchema ?? {},
        ...(destructive !== undefined && { destructive }),
      };
    },
  };
}

const ROLE_FORM = 'Expected { allow: ["mail.*"], deny: ["mail.delete"] }: patterns over service.tool';
/** Other members of a server role, which are ignored. */
const ROLE_LABELS = ["id", "name", "description", "createdAt"];

function readRole(role: LocalOptions["role"]): Visibility {
  if (role === undefined) return EVERYTHING;
  if (typeof role !== "object" || role === null || Array.isArray(role)) {
    throw new TypeError(`role: ${ROLE_FORM}; found ${Array.isArray(role) ? "an array" : typeof role}.`);
  }
  const { patterns, allow = patterns, deny = [], ...others } = role as Partial<Record<string, unknown>>;
  const [unknown] = Object.keys(others).filter((key) => !ROLE_LABELS.includes(key));
  if (unknown !== undefined) throw new TypeError(`role: ${ROLE_FORM}; found the member ${unknown}.`);
  if (!Array.isArray(allow)) throw new TypeError(`role: ${ROLE_FORM}; without an allow list.`);
  if (patterns !== undefined && allow !== patterns) {
    throw new TypeError(`role: ${ROLE_FORM}; found patterns beside allow, which are two names of one list.`);
  }
  if (!Array.isArray(deny)) throw new TypeError(`role: ${ROLE_FORM}; found a deny that is no list.`);
  for (const pattern of [...allow, ...deny] as unknown[]) {
    const problem = typeof pattern === "string" ? findPatternProblem(pattern) : "expected text";
    if (problem !== null) throw new TypeError(`role: the pattern "${String(pattern)}": ${problem}.`);
  }
  return compileRole({ allow, deny });
}

function readTools(tools: LocalOptions["tools"], hasInvoke: boolean): Map<string, LocalTool> {
  const list = tools === undefined ? [] : Array.isArray(tools) ? tools : flatten(tools as ToolTree, "");
  const byPath = new Map<string, LocalTool>();
  for (const tool of list as readonly LocalTool[]) {
    const [serviceId, toolId] = splitPath(tool.path);
    const isNamed = IDENTIFIER_PATTERN.test(serviceId) && TOOL_ID_PATTERN.test(toolId);
    if (!isNamed && tool.path !== FETCH_PATH) {
      throw new TypeError(
        `tools: a path is "service.tool" or "service.group.tool": identifiers, at most 8 after the service; found "${tool.path}".`,
      );
    }
    if (byPath.has(tool.path)) throw new TypeError(`tools: ${tool.path} is there twice.`);
    if (tool.invoke === undefined && !hasInvoke) {
      throw new TypeError(`tools: ${tool.path} has no function. Give it invoke, or the runtime.`);
    }
    byPath.set(tool.path, tool);
  }
  return byPath;
}

function flatten(tree: ToolTree, prefix: string): LocalTool[] {
  return Object.entries(tree).flatMap(([name, node]) => {
    const path = prefix === "" ? name : `${prefix}.${name}`;
    return typeof node === "function" ? [{ path, invoke: node }] : flatten(node, path);
  });
}

function splitPath(path: string): [string, string] {
  const dot = path.indexOf(".");
  return dot === -1 ? [path, ""] : [path.slice(0, dot), path.slice(dot + 1)];
}

function summarize({ path, name, description }: LocalTool): ToolSummary {
  const [serviceId, id] = splitPath(path);
  return { serviceId, id, path, name: name ?? id, description: description ?? "" };
}

/** Loads the index at the first search, because that takes longer than a run. */
async function indexTools(tools: ReadonlyMap<string, LocalTool>): Promise<ToolIndex> {
  const { createToolIndex } = await import("#kernel/tool-search/tool-index.ts");
  const index = createToolIndex();
  const entries = [...tools.values()].map((tool) => index.read({ ...tool, ...summarize(tool) }));
  for (const id of new Set(entries.map(({ serviceId }) => serviceId))) {
    index.put(
      id,
      entries.filter(({ serviceId }) => serviceId === id),
    );
  }
  return index;
}
