/** Pages of tools, ranked or in installation order, without those hidden by the caller's role. */

import { type PageRequest, readPage } from "#api/bounds/page.ts";
import { writeLineSignature } from "#kernel/tool-docs/line-signature.ts";
import type { Db } from "../db/pool.ts";
import type { CallCaller, CallGate } from "./contract.ts";
import type { ToolSummaryRecord } from "./model.ts";
import type { RankedPosition, ToolSearch } from "./search.ts";
import {
  listPathsOfServices,
  listToolRows,
  type ToolFilter,
  type ToolPosition,
  type ToolRow,
} from "./store.ts";

export interface ToolPage<Position> {
  tools: ToolSummaryRecord[];
  /** Null on the last page. */
  next: Position | null;
  /** Existing services, set only if a search found nothing. The tools are then the nearest ones, with score 0. */
  services?: string[];
}

export interface ToolListing {
  list(
    filter: ToolFilter,
    page: PageRequest<ToolPosition>,
    caller: CallCaller,
  ): Promise<ToolPage<ToolPosition>>;
  search(
    query: string,
    filter: ToolFilter,
    page: PageRequest<RankedPosition>,
    caller: CallCaller,
  ): Promise<ToolPage<RankedPosition>>;
  /** Returns those of `serviceIds` that exist for the caller. A service does not if the role hides all its tools. */
  visibleServices(serviceIds: readonly string[], caller: CallCaller): Promise<ReadonlySet<string>>;
  /** Describes a tool for a listing. Its policy is `block` if the policies are unavailable. */
  describe(tool: ToolRow, caller: CallCaller): Promise<ToolSummaryRecord>;
}

/** `failureOf` returns why a service cannot be called although its rows in the database look fine, or null. */
export function createToolListing(
  db: Db,
  search: ToolSearch,
  gate: CallGate,
  failureOf: (serviceId: string) => string | null,
): ToolListing {
  const canSee = (caller: CallCaller, tool: { serviceId: string; id: string }) =>
    gate.canSee(caller, { serviceId: tool.serviceId, toolId: tool.id });

  async function describe(
    { serviceId, id, name, description, enabled, effectivelyEnabled, destructive }: ToolRow,
    caller: CallCaller,
  ): Promise<ToolSummaryRecord> {
    const policy = await gate.decide(caller, { serviceId, toolId: id, destructive }).then(
      ({ decision }) => decision,
      () => "block" as const,
    );
    const isEffective = effectivelyEnabled && failureOf(serviceId) === null;
    return {
      serviceId,
      id,
      name,
      description,
      enabled,
      effectivelyEnabled: isEffective,
      destructive,
      policy,
    };
  }

  return {
    describe,
    async visibleServices(serviceIds, caller) {
      if (gate.seesAll(caller)) return new Set(serviceIds);
      const paths = await listPathsOfServices(db, serviceIds);
      return new Set(paths.filter((path) => gate.canSee(caller, path)).map(({ serviceId }) => serviceId));
    },
    async list(filter, page, caller) {
      const isShown = (row: ToolRow) =>
        canSee(caller, row) && !(filter.effective && failureOf(row.serviceId) !== null);
      const { rows, next } = await readPage(
        page,
        (at) => listToolRows(db, filter, at),
        ({ servicePosition, position, id }): ToolPosition => ({
          service: servicePosition,
          tool: position,
          id,
        }),
        (found) => found.filter(isShown),
      );
      return { tools: await Promise.all(rows.map((row) => describe(row, caller))), next };
    },
    async search(query, filter, page, caller) {
      const { rows, next, services } = await search.search(
        query,
        filter,
        page,
        (tool) => canSee(caller, tool) && !(filter.effective && failureOf(tool.serviceId) !== null),
      );
      const tools = rows.map(async ({ score, inputSchema, outputSchema, ...row }) => ({
        ...(await describe(row, caller)),
        score,
        signature: writeLineSignature(inputSchema, outputSchema),
      }));
      return { tools: await Promise.all(tools), next, ...(services && { services }) };
    },
  };
}
