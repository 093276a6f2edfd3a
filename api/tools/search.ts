/**
 * The search over the tools that are installed: an index in memory, compared with the database before each search, so that
 * a change counts at once wherever it was made. What a caller must not see is left out before anything is ranked.
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

/** Tools read and indexed at a time; other work goes on in between. */
const BATCH_TOOLS = 100;
const MAX_NEAREST = 5;
const MAX_SERVICES_NAMED = 50;

/** Where a page of a ranked listing ends: its last tool. */
export type RankedPosition = FoundTool;

export interface RankedTools {
  rows: (FoundToolRow & { score: number })[];
  next: RankedPosition | null;
  /** Only where nothing was found: the services there are. The rows are the nearest then, with score 0. */
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
  /** Versions of the services that are in the index. */
  const known = new Map<string, string>();
  let turn: Promise<unknown> = Promise.resolve();

  function isInStep(states: readonly ServiceState[]): boolean {
    return states.length === known.size && states.every(({ id, version }) => known.get(id) === version);
  }

  /** The services as they are now, the index with them. */
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
      // The version is older than what is read, never younger: a change in between is read once more.
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
