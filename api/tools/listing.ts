/** Pages of tools, ranked or in the order of installation, without those that the caller's role hides. */

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

/** A page of a listing; the position is that of the kind of listing asked for. */
export interface ToolPage<Position> {
  tools: ToolSummaryRecord[];
  /** Where the next page starts; null at the end. */
  next: Position | null;
  /** Only of a search that found nothing: the services there are. The tools are the nearest then, with score 0. */
  services?: string[];
}

export interface ToolListing {
  /** Unranked. */
  list(
    filter: ToolFilter,
    page: PageRequest<ToolPosition>,
    caller: CallCaller,
  ): Promise<ToolPage<ToolPosition>>;
  /** Ranked by `query`. */
  search(
    query: string,
    filter: ToolFilter,
    page: PageRequest<RankedPosition>,
    caller: CallCaller,
  ): Promise<ToolPage<RankedPosition>>;
  /** Those of `serviceIds` that exist for the caller: what its role hides every tool of does not. */
  visibleServices(serviceIds: readonly string[], caller: CallCaller): Promise<ReadonlySet<string>>;
  /** A tool as it is listed; its policy is `block` when the policies cannot be asked. */
  describe(tool: ToolRow, caller: CallCaller): Promise<ToolSummaryRecord>;
}

/** `failureOf`: why a service cannot be called although its rows say nothing against it. */
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
