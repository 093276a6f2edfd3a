/**
 * What a call reads of the installed tools: a service and one of its tools, and the tool's input schema. Targets are kept
 * for a moment, so that a run of calls does not ask the database each time: dropped for a service on every change of it
 * by this server; a change from elsewhere counts after `maxAgeMs`.
 */
import { performance } from "node:perf_hooks";
import type { Db } from "../db/pool.ts";
import type { ToolPath } from "./contract.ts";

const CACHE_LIMITS = { maxAgeMs: 1000, maxServices: 500, maxToolsOfService: 2000 } as const;

/** Schemas larger than this, as JSON text, are not read. */
export const MAX_SCHEMA_BYTES = 4 * 1024 * 1024;

/** A service and one of its tools, as a call finds them. */
export interface CallTarget {
  serviceEnabled: boolean;
  stale: boolean;
  /** Module id. */
  adapter: string;
  /** The tool's id; null: the service has no such tool. What follows means nothing then. */
  tool: string | null;
  toolEnabled: boolean;
  destructive: boolean;
  inputHash: string;
  /** It makes requests of `fetch`. */
  isFetch: boolean;
}

export interface CallTargets {
  /** Null without such a service; that is never kept. */
  find(path: ToolPath): Promise<CallTarget | null>;
  forget(serviceId: string): void;
}

interface KeptService {
  readAtMs: number;
  targets: Map<string, CallTarget>;
}

export function createCallTargets(db: Db): CallTargets {
  const services = new Map<string, KeptService>();
  /** Counts changes: what was read before one must not be kept after it. */
  let changes = 0;
  return {
    async find({ serviceId, toolId }) {
      const kept = services.get(serviceId);
      const isFresh = kept !== undefined && performance.now() - kept.readAtMs <= CACHE_LIMITS.maxAgeMs;
      const known = isFresh ? kept.targets.get(toolId) : undefined;
      if (known !== undefined) return known;
      const before = changes;
      // The age counts from before the read.
      const place = isFresh ? kept : { readAtMs: performance.now(), targets: new Map<string, CallTarget>() };
      const [target = null] = await db<CallTarget[]>`
        select s.enabled as "serviceEnabled", s.stale, s.adapter, t.id as tool,
          coalesce(t.enabled, false) as "toolEnabled", coalesce(t.destructive, true) as destructive,
          coalesce(t.input_hash, '') as "inputHash", t.fetch_scope is not null as "isFetch"
        from services s left join tools t on t.service_id = s.id and t.id = ${toolId} where s.id = ${serviceId}`;
      if (target === null || target.tool === null || changes !== before) return target;
      if (place.targets.size < CACHE_LIMITS.maxToolsOfService) place.targets.set(toolId, target);
      services.set(serviceId, place);
      const [oldest] = services.keys();
      if (services.size > CACHE_LIMITS.maxServices && oldest !== undefined) services.delete(oldest);
      return target;
    },
    forget(serviceId) {
      changes += 1;
      services.delete(serviceId);
    },
  };
}

/** Null when the tool no longer has the schema of this hash. One that is too large is read as one that says nothing. */
export async function readInputSchema(db: Db, path: ToolPath, hash: string) {
  const [row] = await db<{ schema: Record<string, unknown> | null }[]>`
    select case when octet_length(input_schema::text) <= ${MAX_SCHEMA_BYTES} then input_schema end as schema from tools
    where service_id = ${path.serviceId} and id = ${path.toolId} and input_hash = ${hash}`;
  return row === undefined ? null : (row.schema ?? {});
}

/** Empty for one that is too large, or of a tool that is gone by now. */
export async function readOutputSchema(
  db: Db,
  { serviceId, toolId }: ToolPath,
): Promise<Record<string, unknown>> {
  const [row] = await db<{ schema: Record<string, unknown> | null }[]>`
    select output_schema as schema from tools
    where service_id = ${serviceId} and id = ${toolId} and octet_length(output_schema::text) <= ${MAX_SCHEMA_BYTES}`;
  return row?.schema ?? {};
}
