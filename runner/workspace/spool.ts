/**
 * Stores what runs write in unlinked temporary files, so that nothing remains when this process ends, however it
 * ends. All open spools share a byte limit.
 */
import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { WORKSPACE_LIMIT_ERROR } from "#kernel/file-names.ts";
import { createSharedRoom, KEPT_DIVISOR } from "../shared-room.ts";

/** Which limit a write exceeded: the run's own, or that of the spool, which all runs share. */
export type WorkspaceLimit = "artifacts" | "spool";

/** Thrown when a script's write exceeds the run's limit or the spool's free space. */
export class WorkspaceLimitError extends Error {
  override readonly name = WORKSPACE_LIMIT_ERROR;
  readonly limit: WorkspaceLimit;

  constructor(limit: WorkspaceLimit, message: string) {
    super(message);
    this.limit = limit;
  }
}

export interface Spool {
  /** Rejects with a WorkspaceLimitError if there is not enough space; then nothing was written. */
  write(data: Uint8Array, at: number): Promise<void>;
  read(at: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

export interface Spools {
  /** The first write creates the file. `key` identifies the caller whose share of the space it uses. */
  open(key?: string): Spool;
}

export interface SpoolOptions {
  folder: string;
  /** Limit for all open spools; null to use the size of the disk. */
  maxBytes: number | null;
}

export const SYSTEM_SPOOLS = createSpools({ folder: tmpdir(), maxBytes: null });

export function createSpools({ folder, maxBytes }: SpoolOptions): Spools {
  const room = createSharedRoom(maxBytes ?? Infinity, (maxBytes ?? 0) / KEPT_DIVISOR);
  return {
    open(key = "") {
      let file: Promise<FileHandle> | null = null;
      let ownBytes = 0;
      return {
        async write(data, at) {
          const refusal = room.take(key, data.length);
          if (refusal === "share") {
            throw new WorkspaceLimitError(
              "spool",
              `Runs of this key that are under way hold ${room.heldBy(key)} bytes of files, and the rest of the ${maxBytes} there are (CYRNEL_MAX_SPOOL_BYTES) is kept for other keys. Run it again when some have ended, or write less.`,
            );
          }
          if (refusal !== null) {
            throw new WorkspaceLimitError(
              "spool",
              `The server has no room for more files of runs: those under way may hold ${maxBytes} bytes together while they run (CYRNEL_MAX_SPOOL_BYTES). Run it again when others have ended, write less, or let the operator raise the bound.`,
            );
          }
          ownBytes += data.length;
          try {
            file ??= openWithoutName(folder);
            await writeWhole(await file, data, at);
          } catch (error) {
            throw explain(error);
          }
        },
        async read(at, length) {
          const bytes = Buffer.allocUnsafe(length);
          const { bytesRead } = await (await (file as Promise<FileHandle>)).read(bytes, 0, length, at);
          if (bytesRead !== length)
            throw new Error("the file of a workspace is shorter than what was written");
          return bytes;
        },
        async close() {
          await (await file?.catch(() => null))?.close();
          room.give(key, ownBytes);
          ownBytes = 0;
        },
      };
    },
  };
}

/** Like `createSpools`, but creates the folder, and rejects if it is not writable. */
export async function openSpools(options: SpoolOptions): Promise<Spools> {
  try {
    await mkdir(options.folder, { recursive: true });
    await (await openWithoutName(options.folder)).close();
  } catch (error) {
    throw new Error(
      `CYRNEL_SPOOL_DIR: what runs write cannot be kept in ${options.folder}: ${(error as Error).message}. Set it to a folder that the server may write to.`,
    );
  }
  return createSpools(options);
}

async function openWithoutName(folder: string): Promise<FileHandle> {
  const file = path.join(folder, `cyrnel-workspace-${randomUUID()}`);
  const handle = await open(file, "wx+", 0o600);
  await unlink(file);
  return handle;
}

async function writeWhole(handle: FileHandle, data: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < data.length; ) {
    const { bytesWritten } = await handle.write(data, done, data.length - done, at + done);
    done += bytesWritten;
  }
}

/** Describes the error for the script's author, without server paths. */
function explain(error: unknown): Error {
  const { code = "unknown" } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new WorkspaceLimitError(
      "spool",
      "The disk is full on which the server keeps what runs write while they run (CYRNEL_SPOOL_DIR). Run it again when others have ended, or let the operator make room and set CYRNEL_MAX_SPOOL_BYTES below it.",
    );
  }
  return new Error(`The server cannot keep what runs write (CYRNEL_SPOOL_DIR): ${code}.`);
}
