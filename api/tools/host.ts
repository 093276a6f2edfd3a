/** Tools for scripts: calls, search, details and documentation, limited to what the role allows. */
import type { Db } from "../db/pool.ts";
import { retryWhileAway } from "../db/retry.ts";
import { AppError } from "../errors.ts";
import type { CallCaller, CallGate, ToolCalls, ToolHost, ToolPath } from "./contract.ts";
import { CallError, refuseCall } from "./failure.ts";
import type { ToolListing } from "./listing.ts";
import { findServiceSummary, listServiceSummaries, listToolRows, type ToolDetailsRow } from "./store.ts";
import type { Suggestions } from "./suggestions.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 200;
const MAX_SERVICES_LOOKED_AT = 1000;
const MAX_SERVICE_TOOLS = 5000;
/** Maximum length of a description in a list. Details contain the complete description. */
const MAX_LISTED_CHARACTERS = 600;

export interface ToolHostParts {
  db: Db;
  calls: ToolCalls;
  gate: CallGate;
  /** Returns why a service cannot be called although its rows in the database look fine, or null. */
  failureOf(serviceId: string): string | null;
  listing: ToolListing;
  suggestions: Suggestions;
  /** Throws AppError `not_found`. */
  requireTool(path: ToolPath, caller: CallCaller): Promise<ToolDetailsRow>;
  writeDocs(tool: ToolDetailsRow): Promise<string>;
  log: { error(fields: object, message: string): void };
}

export function createToolHost(parts: ToolHostParts): ToolHost {
  const { db, calls, gate, failureOf, listing, suggestions, requireTool } = parts;

  async function listToolsOf(serviceId: string, caller: CallCaller) {
    if (failureOf(serviceId) !== null) return [];
    const rows = await listToolRows(
      db,
      { serviceId, effective: true },
      { from: null, limit: MAX_SERVICE_TOOLS },
    );
    return rows.filter(({ id }) => gate.canSee(caller, { serviceId, toolId: id }));
  }

  const answer = <T>(signal: AbortSignal, work: () => Promise<T>) => answerScript(parts.log, signal, work);

  return {
    open: calls.open,
    plan: calls.plan,
    perform: calls.perform,
    refuse: calls.refuse,
    discoverServices: (query, caller, signal) =>
      answer(signal, async () => {
        const limit = readLimit(query.limit);
        const filter = { query: query.query?.trim() || undefined, effective: true };
        const rows = await listServiceSummaries(db, filter, MAX_SERVICES_LOOKED_AT);
        const isRestricted = !gate.seesAll(caller);
        const found = [];
        for (const { id, name, description } of rows) {
          if (found.length === limit) break;
          if (failureOf(id) !== null) continue;
          if (isRestricted && (await listToolsOf(id, caller)).length === 0) continue;
          found.push({ id, name, description: shorten(description) });
        }
        return found;
      }),
    discoverTools: (query, caller, signal) =>
      answer(signal, async () => {
        const limit = readLimit(query.limit);
        const text = query.query?.trim() ?? "";
        const filter = { serviceId: query.serviceId, effective: true };
        const page = { from: null, limit };
        const { tools } =
          text === ""
            ? await listing.list(filter, page, caller)
            : await listing.search(text, filter, page, caller);
        return tools.map(({ serviceId, id, name, description, score, signature }) => ({
          serviceId,
          id,
          path: `${serviceId}.${id}`,
          name,
          description: shorten(description),
          ...(score !== undefined && { score }),
          ...(signature !== undefined && { signature }),
        }));
      }),
    getService: (id, caller, signal) =>
      answer(signal, async () => {
        const service = await findServiceSummary(db, id);
        const tools = service === null ? [] : await listToolsOf(id, caller);
        const isRestricted = !gate.seesAll(caller);
        if (service === null || (isRestricted && tools.length === 0)) {
          throw refuseCall("not_found", await suggestions.describeUnknownService(id, caller));
        }
        return {
          id,
          name: service.name,
          description: service.description,
          tools: tools.map((tool) => ({
            id: tool.id,
            name: tool.name,
            description: shorten(tool.description),
          })),
        };
      }),
    getTool: (path, caller, signal) =>
      answer(signal, async () => {
        const { serviceId, id, name, description, destructive, inputSchema, outputSchema } =
          await requireTool(path, caller);
        return {
          serviceId,
          id,
          path: `${serviceId}.${id}`,
          name,
          description,
          destructive,
          inputSchema,
          outputSchema,
        };
      }),
    getToolDocs: (path, caller, signal) =>
      answer(signal, async () => parts.writeDocs(await requireTool(path, caller))),
  };
}

/**
 * Retries, because a run outlives a database that is down for some seconds. A script learns only that an internal
 * error occurred, not its cause.
 */
async function answerScript<T>(
  log: ToolHostParts["log"],
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await retryWhileAway(work, signal);
  } catch (error) {
    if (error instanceof CallError) throw error;
    if (error instanceof AppError && error.code !== "internal_error") {
      throw new CallError(error.message, {
        name: "ToolError",
        code: error.code,
        status: error.status,
        outcome: "error",
        failure: "call_unavailable",
      });
    }
    log.error({ err: error }, "a script's question about tools failed inside the server");
    throw refuseCall("call_unavailable", "The server could not answer at the moment. Try again shortly.");
  }
}

function readLimit(limit: number | undefined): number {
  return Math.min(Math.max(Math.trunc(limit ?? DEFAULT_LIMIT) || DEFAULT_LIMIT, 1), MAX_LIMIT);
}

function shorten(text: string): string {
  return text.length <= MAX_LISTED_CHARACTERS ? text : `${text.slice(0, MAX_LISTED_CHARACTERS)}...`;
}
