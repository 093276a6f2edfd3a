/** Tool operations for HTTP and for scripts, sharing one database and one call path. */

import type { ToolDocsInput } from "#sdk";
import type { Pool } from "../db/pool.ts";
import { AppError } from "../errors.ts";
import { createToolCalls, type ToolCallsOptions } from "./calls.ts";
import type { CallCaller, ToolCall, ToolHost, ToolPath } from "./contract.ts";
import {
  createDeclarations,
  type Declarations,
  type DeclarationsWish,
  type WrittenDeclarations,
} from "./declarations/declarations.ts";
import type { CallError } from "./failure.ts";
import { createToolHost } from "./host.ts";
import { createToolListing, type ToolListing } from "./listing.ts";
import type { ToolDetailsRecord } from "./model.ts";
import { createCallTargets, readInputSchema, readOutputSchema } from "./plan.ts";
import { createFetchRules } from "./requests/fetch.ts";
import { createToolSearch } from "./search.ts";
import { findToolDetails, hasService, setToolEnabled, type ToolDetailsRow } from "./store.ts";
import { createSuggestions } from "./suggestions.ts";
import { createParameterValidator, type ParameterValidator } from "./validation/validator.ts";

export interface ToolsOptions
  extends Pick<
    ToolCallsOptions,
    "findAdapter" | "failureOf" | "gate" | "redactor" | "limits" | "admit" | "onCall" | "log"
  > {
  pool: Pool;
  /** Returns Markdown about a tool. Throws AppError `no_environment` or `module_failed`. */
  writeDocs(input: ToolDocsInput): Promise<string>;
}

/**
 * `list` and `search` throw AppError `not_found` for an unknown service. `visibleServices` does not check whether
 * services exist.
 */
export interface Tools extends AsyncDisposable, Pick<ToolListing, "list" | "search" | "visibleServices"> {
  readonly host: ToolHost;
  readonly inFlight: number;
  /** Validates data against a foreign schema, within limits. */
  readonly validator: Pick<ParameterValidator, "check">;
  /** Returns true if a service with these tools would exist for the caller. */
  wouldShow(serviceId: string, toolIds: readonly string[], caller: CallCaller): boolean;
  /** Call after committing a change of a service or its tools. */
  forget(serviceId: string): void;
  get(path: ToolPath, caller: CallCaller): Promise<ToolDetailsRecord>;
  /** Returns Markdown. Throws AppError `not_found`, `no_environment` or `module_failed`. */
  readDocs(path: ToolPath, caller: CallCaller): Promise<string>;
  readDeclarations(wish: DeclarationsWish, caller: CallCaller): Promise<WrittenDeclarations>;
  setEnabled(path: ToolPath, enabled: boolean, caller: CallCaller): Promise<void>;
  /** Makes one call. Throws AppError. */
  invoke(call: ToolCall): Promise<unknown>;
}

export function createTools(options: ToolsOptions): Tools {
  const { pool, gate, failureOf, log } = options;
  const open = new AsyncDisposableStack();
  const validator = open.use(createParameterValidator());
  const declarations: Declarations = open.use(createDeclarations(pool, gate, failureOf));
  const targets = createCallTargets(pool);
  const fetchRules = createFetchRules(pool, gate, failureOf);
  const suggestions = createSuggestions(pool, gate);
  const calls = createToolCalls({
    ...options,
    validator,
    findTarget: targets.find,
    fetchRules,
    readInputSchema: (path, hash) => readInputSchema(pool, path, hash),
    readOutputSchema: (path) => readOutputSchema(pool, path),
    describeUnknown: suggestions.describeUnknown,
  });
  const forget = (serviceId: string) => {
    targets.forget(serviceId);
    fetchRules.forget();
  };
  const listing = createToolListing(pool, createToolSearch(pool), gate, failureOf);
  const writeDocs = (tool: ToolDetailsRow) => options.writeDocs(toDocsInput(tool));
  async function requireService(serviceId: string | undefined, asker: CallCaller): Promise<void> {
    if (serviceId === undefined) return;
    const isVisible = (await listing.visibleServices([serviceId], asker)).has(serviceId);
    if (isVisible && (await hasService(pool, serviceId))) return;
    throw new AppError("not_found", await suggestions.describeUnknownService(serviceId, asker));
  }

  async function requireTool(path: ToolPath, asker: CallCaller): Promise<ToolDetailsRow> {
    const tool = gate.canSee(asker, path) ? await findToolDetails(pool, path) : null;
    if (tool === null) throw new AppError("not_found", await suggestions.describeUnknown(path, asker));
    return tool;
  }

  const host = createToolHost({
    db: pool,
    calls,
    gate,
    failureOf,
    listing,
    suggestions,
    requireTool,
    writeDocs,
    log,
  });
  return {
    host,
    get inFlight() {
      return calls.inFlight;
    },
    validator,
    visibleServices: listing.visibleServices,
    wouldShow: (serviceId, toolIds, asker) =>
      gate.seesAll(asker) || toolIds.some((toolId) => gate.canSee(asker, { serviceId, toolId })),
    forget,
    async list(filter, page, asker) {
      await requireService(filter.serviceId, asker);
      return listing.list(filter, page, asker);
    },
    async search(query, filter, page, asker) {
      await requireService(filter.serviceId, asker);
      return listing.search(query, filter, page, asker);
    },
    async get(path, asker) {
      const tool = await requireTool(path, asker);
      const { inputSchema, outputSchema } = tool;
      return { ...(await listing.describe(tool, asker)), inputSchema, outputSchema };
    },
    readDocs: async (path, asker) => writeDocs(await requireTool(path, asker)),
    async readDeclarations(wish, asker) {
      await requireService(wish.serviceId, asker);
      return declarations.write(wish, asker);
    },
    async setEnabled(path, enabled, asker) {
      const isSet = gate.canSee(asker, path) && (await setToolEnabled(pool, path, enabled));
      forget(path.serviceId);
      if (isSet) return;
      throw new AppError("not_found", await suggestions.describeUnknown(path, asker));
    },
    async invoke(call) {
      try {
        return await calls.perform(await calls.plan(calls.open(call)));
      } catch (error) {
        throw toAppError(error as CallError);
      }
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function toAppError(error: CallError): AppError {
  return new AppError(error.failure, error.message, {
    ...(error.issues && { issues: error.issues }),
    cause: error.cause ?? error,
  });
}

function toDocsInput({ serviceId, id, description, inputSchema, outputSchema }: ToolDetailsRow) {
  return { serviceId, toolId: id, description, inputSchema, outputSchema };
}
