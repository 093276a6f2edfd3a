import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { Db, Pool } from "#api/db/pool.ts";
import { lockRevision, type RevisionKind, type RevisionWatch } from "#api/db/revisions.ts";
import { AppError } from "#api/errors.ts";

export const roleIdSchema = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]{0,63}$/,
    "expected a role id: a letter, then at most 63 letters, digits, _ and -",
  );

export const nameSchema = z
  .string()
  .trim()
  .min(1, "name must not be empty")
  .max(200)
  .refine((text) => !/\p{Cc}/u.test(text) && text.isWellFormed(), {
    error: "name must not contain control characters",
  });

export const expirySchema = z.iso
  .datetime({ offset: true, error: "expected a date and time such as 2030-01-31T12:00:00Z" })
  .nullable();

export function makeId(prefix: "key" | "role" | "pol"): string {
  return `${prefix}_${randomBytes(10).toString("hex")}`;
}

export interface ChangeOptions {
  pool: Pool;
  watch: Pick<RevisionWatch, "refresh">;
}

export interface Refusals {
  unique?(): AppError;
  reference?(): AppError;
}

/** Runs one change in a transaction. List `kinds` in the order of `RevisionKind`: see `lockRevision`. */
export async function change<T>(
  { pool, watch }: ChangeOptions,
  kinds: readonly RevisionKind[],
  work: (db: Db) => Promise<T>,
  refusals: Refusals = {},
): Promise<T> {
  const result = await pool
    .begin(async (transaction) => {
      for (const kind of kinds) await lockRevision(transaction, kind);
      return work(transaction);
    })
    .catch((error: unknown) => {
      const refuse = { "23505": refusals.unique, "23503": refusals.reference }[codeOf(error)];
      throw refuse?.() ?? error;
    });
  await watch.refresh();
  return result as T;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/**
 * Returns null for a null text, which means no expiry. Throws AppError `invalid_request` if the time is in the past.
 */
export function readExpiry(text: string | null): Date | null {
  if (text === null) return null;
  const date = new Date(text);
  if (date.getTime() > Date.now()) return date;
  throw refuseBody("expiresAt", "expected a time in the future");
}

export function refuseBody(field: string, message: string): AppError {
  return new AppError("invalid_request", `The request is not valid: body.${field}: ${message}`, {
    issues: [{ path: `body.${field}`, message }],
  });
}

export function refuseUnknownRole(roleId: string | null): AppError {
  return refuseBody("roleId", `there is no role ${roleId}: GET /roles lists them`);
}

export function refuseMore(max: number, noun: string, advice: string): AppError {
  return new AppError("limit_reached", `There are already ${max} ${noun}, the maximum. ${advice}`);
}
