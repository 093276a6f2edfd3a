/**
 * Limits the bytes stored per key. The database counts and enforces (0034_stored_bytes.sql): a statement that stores
 * bytes states the limit, and its failure becomes the client's error.
 */
import { AppError } from "../errors.ts";
import type { Db } from "./pool.ts";

const EXCEEDED = "CY413";

/** SQL for a statement's `with` clause, before the part that stores. A null `maxBytes` means no limit. */
export function allowStoredBytes(db: Db, maxBytes: number | null) {
  const setting = maxBytes === null ? "" : String(maxBytes);
  return db`allowed as materialized (select set_config('cyrnel.max_stored_bytes', ${setting}, true))`;
}

/** Returns `storage_full` if a statement failed because its bytes exceed the limit, otherwise `error`. */
export function toStorageFull(error: unknown, maxBytes: number | null): unknown {
  if (!(error instanceof Error && "code" in error && error.code === EXCEEDED)) return error;
  return storageFull(Number((error as { detail?: unknown }).detail), maxBytes);
}

export function isStorageFull(error: unknown): error is AppError {
  return error instanceof AppError && error.code === "storage_full";
}

export function storageFull(usedBytes: number, maxBytes: number | null): AppError {
  return new AppError(
    "storage_full",
    `This key keeps ${usedBytes} bytes in uploads, in files of its processes and in what they left or saved; at most ${maxBytes} are kept, and this would be more (CYRNEL_MAX_STORED_BYTES). Delete uploads (DELETE /files/:id) or processes (DELETE /processes/:id) that are not needed any more.`,
  );
}
