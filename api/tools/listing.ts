/** Pages of tools, ranked or in the order of installation, without those that the caller's role hides. */

import { type PageRequest, readPage } from "#api/bounds/page.ts";
import { writeLineSignature } from "#runner/docs/line-signature.ts";
import type { Db } from "../db/pool.ts";
import type { CallCaller, CallGate, Decision } from "./gate.ts";
import type { RankedPosition, ToolSearch } from "./search/search.ts";
import {
  listPathsOfServices,
  listToolRows,
  type ToolFilter,
  type ToolPosition,
  type ToolRow,
} from "./store.ts";

export interface ListedTool extends ToolRow {
  policy: Decision;
  /** Only of a ranked listing: how well it fits, and its type on one line. */
  score?: number;
  signature?: string;
}

export interface ToolPage<Position> {
  tools: ListedTool[];
  /** Where the next page starts; null at the end. */
  next: Position | null;
  /** Only of a ranked listing that found nothing: the services there are. The tools are the nearest then, with score 0. */
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
  /** What the policies say about a call of a tool; `block` when they cannot be asked. */
  decide(caller: CallCaller, tool: Pick<ToolRow, "serviceId" | "id" | "destructive">): Promise<Decision>;
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

  async function decide(
    caller: CallCaller,
    { serviceId, id, destructive }: Pick<ToolRow, "serviceId" | "id" | "destructive">,
  ): Promise<Decision> {
    try {
      return (await gate.decide(caller, { serviceId, toolId: id, destructive })).decision;
    } catch {
      return "block";
    }
  }

  async function addPolicies(
    rows: readonly Omit<ListedTool, "policy">[],
    caller: CallCaller,
  ): Promise<ListedTool[]> {
    return Promise.all(
      rows.map(async (row) => ({
        ...row,
        effectivelyEnabled: row.effectivelyEnabled && failureOf(row.serviceId) === null,
        policy: await decide(caller, row),
      })),
    );
  }

  return {
    decide,
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
      return { tools: await addPolicies(rows, caller), next };
    },
    async search(query, filter, page, caller) {
      const { rows, next, services } = await search.search(
        query,
        filter,
        page,
        (tool) => canSee(caller, tool) && !(filter.effective && failureOf(tool.serviceId) !== null),
      );
      const signed = rows.map(({ inputSchema, outputSchema, ...row }) => ({
        ...row,
        signature: writeLineSignature(inputSchema, outputSchema),
      }));
      return { tools: await addPolicies(signed, caller), next, ...(services && { services }) };
    },
  };
}
