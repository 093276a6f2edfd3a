/**
 * The bound on what a key keeps in the store of files. The database counts and refuses (0034_stored_bytes.sql): a statement that adds
 * to it says how much is allowed, and its failure becomes the error that a client sees.
 */
import { AppError } from "../errors.ts";
import type { Db } from "./pool.ts";

/** Of a statement that would go beyond. */
const EXCEEDED = "CY413";

/** A part of a statement's `with`, before what adds. `maxBytes` null: no bound. */
export function allowStoredBytes(db: Db, maxBytes: number | null) {
  const setting = maxBytes === null ? "" : String(maxBytes);
  return db`allowed as materialized (select set_config('cyrnel.max_stored_bytes', ${setting}, true))`;
}

/** `error`, or storage_full where a statement was refused for the bytes it adds. */
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
