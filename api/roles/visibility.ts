/** Roles compiled: whether a role may see a tool. Deny wins; an empty allow list allows nothing. */
import type { Db } from "#api/db/pool.ts";
import type { RevisionWatch } from "#api/db/revisions.ts";
import { compilePathPattern, createToolIndex, testSegment } from "../tool-patterns.ts";
import { readRoles } from "./store.ts";

export interface Visibility {
  sees(serviceId: string, toolId: string): boolean;
}

export interface RoleDirectory {
  /** Null for a role that does not exist (any more): nothing is visible to it. */
  find(id: string): Visibility | null;
}

export function compileRole(role: { allow: readonly string[]; deny: readonly string[] }): Visibility {
  const isAllowed = compilePatterns(role.allow);
  const isDenied = compilePatterns(role.deny);
  return { sees: (serviceId, toolId) => !isDenied(serviceId, toolId) && isAllowed(serviceId, toolId) };
}

/** Whether any of the patterns matches a tool. */
function compilePatterns(patterns: readonly string[]): (serviceId: string, toolId: string) => boolean {
  const entries = patterns.flatMap(compilePathPattern).map((test) => ({ test, value: null }));
  const index = createToolIndex(entries);
  return (serviceId, toolId) => {
    const { named, general } = index(serviceId);
    return named.has(toolId) || general.some(({ tool }) => testSegment(tool, toolId));
  };
}

export function createRoleDirectory(db: Db, watch: RevisionWatch): RoleDirectory {
  let roles = new Map<string, Visibility>();
  watch.follow("roles", async () => {
    roles = new Map((await readRoles(db)).map((row) => [row.id, compileRole(row)]));
  });
  return { find: (id) => roles.get(id) ?? null };
}
