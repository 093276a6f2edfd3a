/** What can be done with roles: make, list, change, delete. A change counts for running scripts at once. */
import { randomBytes } from "node:crypto";
import type { Pool } from "#api/db/pool.ts";
import type { RevisionWatch } from "#api/db/revisions.ts";
import { AppError } from "#api/errors.ts";
import { hintPatterns, type ToolPath } from "./hints.ts";
import { type CreateRoleBody, MAX_ROLES, type PatchRoleBody, type RoleRecord } from "./model.ts";
import {
  countRoles,
  deleteRole,
  findRole,
  insertRole,
  isInUse,
  isNameTaken,
  listRoleRows,
  lockKeysAndRoles,
  lockRoles,
  type RoleRow,
  updateRole,
} from "./store.ts";

export interface RolePage {
  roles: RoleRecord[];
  /** Where the next page starts; null at the end. */
  next: number | null;
}
export type ChangedRole = RoleRecord & { hints: string[] };

export interface Roles {
  /** Throws AppError `name_taken`, `limit_reached`. */
  create(body: CreateRoleBody): Promise<ChangedRole>;
  list(page: { before: number | null; limit: number }): Promise<RolePage>;
  get(id: string): Promise<RoleRecord>;
  /** In force when it resolves. Throws AppError `not_found`, `name_taken`. */
  change(id: string, body: PatchRoleBody): Promise<ChangedRole>;
  /** Throws AppError `not_found`, `role_in_use`. */
  remove(id: string): Promise<void>;
}

export interface RolesOptions {
  pool: Pool;
  watch: Pick<RevisionWatch, "refresh">;
  /** Every installed tool. */
  listTools: () => Promise<readonly ToolPath[]>;
}

export function createRoles({ pool, watch, listTools }: RolesOptions): Roles {
  async function describeChange(row: RoleRow): Promise<ChangedRole> {
    await watch.refresh();
    return { ...toRecord(row), hints: hintPatterns(row, await listTools()) };
  }

  return {
    async create(body) {
      const row = await pool
        .begin(async (transaction) => {
          await lockRoles(transaction);
          if ((await countRoles(transaction)) >= MAX_ROLES) throw refuseMore();
          return insertRole(transaction, { ...body, id: `role_${randomBytes(10).toString("hex")}` });
        })
        .catch((error) => {
          throw isNameTaken(error) ? refuseName(body.name) : error;
        });
      return describeChange(row);
    },
    async list({ before, limit }) {
      const rows = await listRoleRows(pool, { before, limit: limit + 1 });
      const shown = rows.slice(0, limit);
      const next = rows.length > limit ? (shown.at(-1)?.position ?? null) : null;
      return { roles: shown.map(toRecord), next };
    },
    async get(id) {
      const row = await findRole(pool, id);
      if (row === null) throw refuseUnknown(id);
      return toRecord(row);
    },
    async change(id, body) {
      const row = await pool
        .begin(async (transaction) => {
          await lockRoles(transaction);
          return updateRole(transaction, id, body);
        })
        .catch((error) => {
          throw isNameTaken(error) ? refuseName(body.name ?? "") : error;
        });
      if (row === null) throw refuseUnknown(id);
      return describeChange(row);
    },
    async remove(id) {
      const removed = await pool
        .begin(async (transaction) => {
          await lockKeysAndRoles(transaction);
          return deleteRole(transaction, id);
        })
        .catch((error) => {
          throw isInUse(error) ? refuseInUse(id) : error;
        });
      await watch.refresh();
      if (!removed) throw refuseUnknown(id);
    },
  };
}

function toRecord({ position: _, createdAt, ...row }: RoleRow): RoleRecord {
  return { ...row, createdAt: createdAt.toISOString() };
}

function refuseUnknown(id: string): AppError {
  return new AppError("not_found", `There is no role ${id}. GET /roles lists them.`);
}

function refuseName(name: string): AppError {
  return new AppError("name_taken", `Another role is called "${name}". Choose another name.`);
}

function refuseInUse(id: string): AppError {
  return new AppError(
    "role_in_use",
    `A key or a policy names the role ${id}. Revoke those keys and delete those policies first.`,
  );
}

function refuseMore(): AppError {
  return new AppError(
    "limit_reached",
    `There are ${MAX_ROLES} roles, which is the most there may be. Delete one that is not needed.`,
  );
}
