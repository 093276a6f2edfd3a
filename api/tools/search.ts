/**
 * Search over installed tools. The in-memory index is compared with the database before each search, so changes count
 * at once wherever they were made. Tools hidden from the caller are removed before ranking.
 */
import type { PageRequest } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import { createToolIndex, type FoundTool } from "#kernel/tool-search/tool-index.ts";
import {
  type FoundToolRow,
  listServiceStates,
  readFoundTools,
  readSearchedTools,
  type ServiceState,
  type ToolFilter,
} from "./store.ts";

const BATCH_TOOLS = 100;
const MAX_NEAREST = 5;
const MAX_SERVICES_NAMED = 50;

export type RankedPosition = FoundTool;

export interface RankedTools {
  rows: (FoundToolRow & { score: number })[];
  next: RankedPosition | null;
  /** Existing services, set only if nothing was found. The rows are then the nearest tools, with score 0. */
  services?: string[];
}

export interface ToolSearch {
  search(
    query: string,
    filter: ToolFilter,
    page: PageRequest<RankedPosition>,
    canSee: (tool: { serviceId: string; id: string }) => boolean,
  ): Promise<RankedTools>;
}

export function createToolSearch(db: Db): ToolSearch {
  const index = createToolIndex();
  const known = new Map<string, string>();
  let turn: Promise<unknown> = Promise.resolve();

  function isInStep(states: readonly ServiceState[]): boolean {
    return states.length === known.size && states.every(({ id, version }) => known.get(id) === version);
  }

  async function follow(): Promise<ServiceState[]> {
    const states = await listServiceStates(db);
    if (isInStep(states)) return states;
    const loaded = turn.catch(() => {}).then(loadChanges);
    turn = loaded;
    return loaded;
  }

  async function loadChanges(): Promise<ServiceState[]> {
    const states = await listServiceStates(db);
    const present = new Set(states.map(({ id }) => id));
    for (const id of [...known.keys()]) {
      if (present.has(id)) continue;
      index.remove(id);
      known.delete(id);
    }
    for (const { id, version } of states) {
      if (known.get(id) === version) continue;
      // The version is never newer than the data read. A change in between causes one more read.
      index.put(id, await readAll(id));
      known.set(id, version);
    }
    return states;
  }

  async function readAll(serviceId: string) {
    const tools = [];
    for (let after = ""; ; ) {
      const batch = await readSearchedTools(db, serviceId, after, BATCH_TOOLS);
      for (const tool of batch) tools.push(index.read({ ...tool, serviceId }));
      if (batch.length < BATCH_TOOLS) return tools;
      after = batch.at(-1)?.id ?? "";
    }
  }

  async function readRows(found: readonly FoundTool[]): Promise<RankedTools["rows"]> {
    if (found.length === 0) return [];
    const rows = new Map((await readFoundTools(db, found)).map((row) => [`${row.serviceId}.${row.id}`, row]));
    return found.flatMap(({ serviceId, id, score }) => {
      const row = rows.get(`${serviceId}.${id}`);
      return row === undefined ? [] : [{ ...row, score }];
    });
  }

  return {
    async search(query, { serviceId, enabled, effective = false }, { from: after, limit }, canSee) {
      const states = new Map(
        (await follow()).map(({ off, ...state }) => [state.id, { ...state, off: new Set(off) }]),
      );
      const isThere = (tool: { serviceId: string; id: string }) => {
        const state = states.get(tool.serviceId);
        if (state === undefined) return false;
        const isOn = !state.off.has(tool.id);
        if (enabled !== undefined && isOn !== enabled) return false;
        return (!effective || (isOn && state.isEffective)) && canSee(tool);
      };
      const accepts = (tool: { serviceId: string; id: string }) =>
        (serviceId === undefined || tool.serviceId === serviceId) && isThere(tool);
      const found = index.search(query, accepts, { after, limit: limit + 1 });
      if (found.length === 0 && after === null) {
        const rows = await readRows(index.findNearest(query, accepts, Math.min(limit, MAX_NEAREST)));
        return { rows, next: null, services: index.listServices(isThere).slice(0, MAX_SERVICES_NAMED) };
      }
      const page = found.slice(0, limit);
      return { rows: await readRows(page), next: found.length > limit ? (page.at(-1) ?? null) : null };
    },
  };
}
