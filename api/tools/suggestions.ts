/** Not-found messages with suggestions: visible services and tools with a similar spelling. */

import { pickSimilar } from "#kernel/tool-search/similarity.ts";
import type { Db } from "../db/pool.ts";
import type { CallCaller, CallGate, ToolPath } from "./contract.ts";
import { listPathsOfService, listServiceIds } from "./store.ts";

const MAX_SUGGESTIONS = 5;
const MAX_COMPARED_TOOLS = 5000;
const MAX_COMPARED_SERVICES = 1000;
const MAX_SIMILAR_SERVICES = 3;

export interface Suggestions {
  describeUnknown(path: ToolPath, caller: CallCaller): Promise<string>;
  describeUnknownService(serviceId: string, caller: CallCaller): Promise<string>;
}

export function createSuggestions(db: Db, gate: CallGate): Suggestions {
  async function listVisible(serviceId: string, caller: CallCaller): Promise<string[]> {
    const ids = await listPathsOfService(db, serviceId, MAX_COMPARED_TOOLS);
    return ids.filter((toolId) => gate.canSee(caller, { serviceId, toolId }));
  }

  /** Returns services of which the caller can see anything, most similar first. */
  async function findSimilarServices(
    serviceId: string,
    caller: CallCaller,
    max: number,
  ): Promise<[string, string[]][]> {
    const similar = pickSimilar(
      serviceId,
      await listServiceIds(db, MAX_COMPARED_SERVICES),
      MAX_SUGGESTIONS * 2,
    );
    const found: [string, string[]][] = [];
    for (const id of similar) {
      if (found.length >= max) break;
      const visible = await listVisible(id, caller);
      if (visible.length > 0) found.push([id, visible]);
    }
    return found;
  }

  async function suggestTools({ serviceId, toolId }: ToolPath, caller: CallCaller): Promise<string[]> {
    const own = pickSimilar(toolId, await listVisible(serviceId, caller), MAX_SUGGESTIONS);
    if (own.length > 0) return own.map((id) => `${serviceId}.${id}`);
    const others: string[] = [];
    for (const [id, visible] of await findSimilarServices(serviceId, caller, MAX_SIMILAR_SERVICES)) {
      others.push(...pickSimilar(toolId, visible, MAX_SUGGESTIONS).map((tool) => `${id}.${tool}`));
    }
    return pickSimilar(`${serviceId}.${toolId}`, others, MAX_SUGGESTIONS);
  }

  return {
    async describeUnknown(path, caller) {
      const { serviceId, toolId } = path;
      const suggestions = await suggestTools(path, caller);
      return `There is no tool ${shorten(serviceId)}.${shorten(toolId)}.${formatSuggestions(suggestions)}`;
    },
    async describeUnknownService(serviceId, caller) {
      const similar = await findSimilarServices(serviceId, caller, MAX_SUGGESTIONS);
      return `There is no service ${shorten(serviceId)}.${formatSuggestions(similar.map(([id]) => id))}`;
    },
  };
}

function formatSuggestions(suggestions: readonly string[]): string {
  return suggestions.length === 0
    ? " tools.search({ query }) and GET /tools find what there is."
    : ` Did you mean ${suggestions.join(", ")}?`;
}

function shorten(id: string): string {
  return id.length <= 100 ? id : `${id.slice(0, 100)}...`;
}
