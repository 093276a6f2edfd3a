/**
 * What calls need to know of a tool, kept for a moment so that a run of calls does not ask the database each time.
 * Dropped for a service on every change of it by this server; a change from elsewhere counts after `maxAgeMs`.
 */
import { performance } from "node:perf_hooks";
import type { Db } from "../../db/pool.ts";
import type { ToolPath } from "../gate.ts";
import { type CallTarget, findCallTarget } from "../store.ts";

const CACHE_LIMITS = { maxAgeMs: 1000, maxServices: 500, maxToolsOfService: 2000 } as const;

export interface TargetCache {
  /** Null without such a service; that is never kept. */
  find(path: ToolPath): Promise<CallTarget | null>;
  forget(serviceId: string): void;
}

interface KeptService {
  readAtMs: number;
  targets: Map<string, CallTarget>;
}

export function createTargetCache(db: Db): TargetCache {
  const services = new Map<string, KeptService>();
  /** Counts changes: what was read before one must not be kept after it. */
  let changes = 0;

  function take(serviceId: string): KeptService {
    const known = services.get(serviceId);
    if (known !== undefined) return known;
    const made: KeptService = { readAtMs: performance.now(), targets: new Map() };
    services.set(serviceId, made);
    const [oldest] = services.keys();
    if (services.size > CACHE_LIMITS.maxServices && oldest !== undefined) services.delete(oldest);
    return made;
  }

  return {
    async find(path) {
      const { serviceId, toolId } = path;
      const kept = services.get(serviceId);
      if (kept !== undefined && performance.now() - kept.readAtMs > CACHE_LIMITS.maxAgeMs)
        services.delete(serviceId);
      const known = services.get(serviceId)?.targets.get(toolId);
      if (known !== undefined) return known;
      const before = changes;
      // The age counts from before the read.
      const place = take(serviceId);
      const target = await findCallTarget(db, path);
      const isKept = target !== null && target.tool !== null && changes === before;
      if (isKept && place.targets.size < CACHE_LIMITS.maxToolsOfService) place.targets.set(toolId, target);
      return target;
    },
    forget(serviceId) {
      changes += 1;
      services.delete(serviceId);
    },
  };
}
