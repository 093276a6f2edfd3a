/**
 * Opaque listing cursors: the last item's sort key with a checksum, so that a shortened, edited or made-up cursor
 * causes an error instead of a listing from elsewhere.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { PageRequest } from "../bounds/page.ts";
import { AppError } from "../errors.ts";

const CHECKSUM_BYTES = 6;
export const MAX_CURSOR_CHARACTERS = 500;

export function encodeCursor(kind: string, position: unknown): string {
  const payload = Buffer.from(JSON.stringify(position));
  return Buffer.concat([checksum(kind, payload), payload]).toString("base64url");
}

/** Returns the position in a cursor, validated by `schema`. Throws AppError `invalid_cursor`. */
export function decodeCursor<S extends z.ZodType>(kind: string, schema: S, cursor: string): z.output<S> {
  const bytes = Buffer.from(cursor, "base64url");
  const payload = bytes.subarray(CHECKSUM_BYTES);
  const isWhole =
    cursor.length <= MAX_CURSOR_CHARACTERS &&
    bytes.toString("base64url") === cursor &&
    checksum(kind, payload).equals(bytes.subarray(0, CHECKSUM_BYTES));
  if (!isWhole) throw invalidCursor();
  const position = schema.safeParse(parseJson(payload));
  if (!position.success) throw invalidCursor();
  return position.data;
}

export function createListing<S extends z.ZodType>(kind: string, schema: S) {
  return {
    async answer<
      Query extends { cursor?: string | undefined; limit: number },
      Page extends { next: z.output<S> | null },
    >(
      { cursor, limit, ...filter }: Query,
      read: (page: PageRequest<z.output<S>>, filter: Omit<Query, "cursor" | "limit">) => Promise<Page>,
    ): Promise<Omit<Page, "next"> & { nextCursor: string | null }> {
      const from = cursor === undefined ? null : decodeCursor(kind, schema, cursor);
      const { next, ...page } = await read({ from, limit }, filter);
      return { ...page, nextCursor: next === null ? null : encodeCursor(kind, next) };
    },
  };
}

function invalidCursor(): AppError {
  return new AppError(
    "invalid_cursor",
    "The cursor is not one of this listing. Use nextCursor of the page before, unchanged.",
  );
}

function checksum(kind: string, payload: Buffer): Buffer {
  return createHash("sha256")
    .update(`cyrnel cursor ${kind}\n`)
    .update(payload)
    .digest()
    .subarray(0, CHECKSUM_BYTES);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

export const pageQuerySchema = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,3}$/, "limit is a whole number from 1 to 200")
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= 200, "limit is a whole number from 1 to 200")
    .default(50)
    .describe("Items at most, 1 to 200. Default 50."),
  cursor: z.string().max(MAX_CURSOR_CHARACTERS).optional().describe("`nextCursor` of the page before."),
});
