/** Role changes apply to running scripts at once. */
import { type PageRequest, readNumberedPage } from "#api/bounds/page.ts";
import { AppError } from "#api/errors.ts";
import { type ChangeOptions, change, makeId, refuseMore } from "../changes.ts";
import { compilePathPattern, testSegment, testTool } from "../tool-patterns.ts";
import { type CreateRoleBody, MAX_ROLES, type PatchRoleBody, type RoleRecord } from "./model.ts";
import {
  countRoles,
  deleteRole,
  findRole,
  insertRole,
  listRoleRows,
  type RoleRow,
  updateRole,
} from "./store.ts";

export type ChangedRole = RoleRecord & { hints: string[] };

export interface Roles {
  /** Throws AppError `name_taken`, `limit_reached`. */
  create(body: CreateRoleBody): Promise<ChangedRole>;
  list(page: PageRequest<number>): Promise<{ roles: RoleRecord[]; next: number | null }>;
  get(id: string): Promise<RoleRecord>;
  /** Changes a role, in force once this resolves. Throws AppError `not_found`, `name_taken`. */
  change(id: string, body: PatchRoleBody): Promise<ChangedRole>;
  /** Throws AppError `not_found`, `role_in_use`. */
  remove(id: string): Promise<void>;
}

export interface RolesOptions extends ChangeOptions {
  listTools: () => Promise<readonly ToolPath[]>;
}

export function createRoles(options: RolesOptions): Roles {
  const { pool, listTools } = options;
  const withHints = async (row: RoleRow): Promise<ChangedRole> => ({
    ...toRecord(row),
    hints: hintPatterns(row, await listTools()),
  });

  return {
    async create(body) {
      const make = async (db: Parameters<typeof insertRole>[0]) => {
        const { id = makeId("role"), patterns = [], allow = patterns } = body;
        if ((await countRoles(db)) < MAX_ROLES) return insertRole(db, { ...body, id, allow });
        throw refuseMore(MAX_ROLES, "roles", "Delete one that is not needed.");
      };
      return withHints(
        await change(options, ["roles"], make, { unique: () => refuseTaken(body.name, body.id) }),
      );
    },
    async list(page) {
      const { rows, next } = await readNumberedPage(page, (at) => listRoleRows(pool, at));
      return { roles: rows.map(toRecord), next };
    },
    async get(id) {
      const row = await findRole(pool, id);
      if (row === null) throw refuseUnknown(id);
      return toRecord(row);
    },
    async change(id, body) {
      const { patterns, allow = patterns, ...others } = body;
      const update = (db: Parameters<typeof updateRole>[0]) => updateRole(db, id, { ...others, allow });
      const row = await change(options, ["roles"], update, {
        unique: () => refuseTaken(body.name ?? ""),
      });
      if (row === null) throw refuseUnknown(id);
      return withHints(row);
    },
    async remove(id) {
      const isRemoved = await change(options, ["keys", "roles"], (db) => deleteRole(db, id), {
        reference: () => refuseInUse(id),
      });
      if (!isRemoved) throw refuseUnknown(id);
    },
  };
}

function toRecord({ position: _, createdAt, ...row }: RoleRow): RoleRecord {
  return { ...row, createdAt: createdAt.toISOString() };
}

function refuseUnknown(id: string): AppError {
  return new AppError("not_found", `There is no role ${id}. GET /roles lists them.`);
}

function refuseTaken(name: string, id?: string): AppError {
  const sentence =
    id === undefined
      ? `Another role has the name "${name}". Choose another name.`
      : `Another role has the id ${id} or the name "${name}". Choose others.`;
  return new AppError("name_taken", sentence);
}

function refuseInUse(id: string): AppError {
  return new AppError(
    "role_in_use",
    `A key or a policy uses the role ${id}. Revoke those keys and delete those policies first.`,
  );
}

const MAX_HINTS = 20;

export interface ToolPath {
  serviceId: string;
  toolId: string;
}

/** Returns at most MAX_HINTS sentences, one per pattern that matches nothing. */
function hintPatterns(
  { allow, deny }: { allow: readonly string[]; deny: readonly string[] },
  tools: readonly ToolPath[],
): string[] {
  const hints = new Set<string>();
  for (const [patterns, below] of [
    [allow, false],
    [deny, true],
  ] as const) {
    for (const pattern of patterns) {
      const hint = hints.size < MAX_HINTS ? hintPattern(pattern, below, tools) : null;
      if (hint !== null) hints.add(hint);
    }
  }
  return [...hints];
}

function hintPattern(pattern: string, below: boolean, tools: readonly ToolPath[]): string | null {
  const tests = compilePathPattern(pattern, below);
  if (tests.length === 0) {
    const fix = pattern.includes(".") ? "" : ` Did you mean ${pattern}.*?`;
    return `${pattern} can match no tool: a path is service.tool.${fix}`;
  }
  const isMatched = tools.some(({ serviceId, toolId }) =>
    tests.some(({ service, tool }) => testSegment(service, serviceId) && testTool(tool, toolId)),
  );
  return isMatched ? null : `${pattern} matches no installed tool.`;
}
