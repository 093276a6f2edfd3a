/**
 * Uploads, files passed to processes, and artifacts, all kept in one content store. A key sees its own uploads, or
 * everyone's with the scope processes:all: knowing a digest does not grant access.
 */
import { type PageRequest, readNumberedPage } from "#api/bounds/page.ts";
import type { Db } from "#api/db/pool.ts";
import type { Caller } from "#api/http/auth.ts";
import type { FileRefusal } from "#api/processes/model/files.ts";
import { AppError } from "../errors.ts";
import type { OpenContent } from "./contents/checked.ts";
import type { ContentStore } from "./contents/contents.ts";
import {
  type Artifact,
  type Digest,
  type FileFilter,
  type FileList,
  type FileRecord,
  fileIdOf,
  type NamedContent,
  type StoredUpload,
} from "./model.ts";
import {
  deleteFile,
  findFile,
  findProcessFile,
  listFiles,
  readLeft,
  readRoom,
  readStoredBytes,
  upsertFile,
  useFiles,
} from "./store.ts";
import { createUploadCount, limitBytes, tooLarge } from "./uploads.ts";

const DAY_MS = 24 * 60 * 60_000;
/** Reading an upload extends its life; this is recorded at most this often. */
const USE_NOTED_MS = 60 * 60_000;

type Viewer = Pick<Caller, "id" | "scopes">;

export interface FilesDeps {
  db: Db;
  contents: ContentStore;
  config: { maxFileBytes: number; fileTtlDays: number; maxStoredBytes: number | null };
  onUpload?: (outcome: "stored" | "failed", bytes: number) => void;
  onRefused?: (reason: FileRefusal) => void;
}

const UPLOAD_REFUSALS: Readonly<Record<string, FileRefusal>> = {
  storage_full: "quota",
  body_too_large: "file_size",
  too_many_uploads: "uploads",
};

export interface Upload {
  name: string | null;
  contentType: string;
  bytes: AsyncIterable<Uint8Array>;
}

export interface OpenFile {
  name: string | null;
  digest: Digest;
  contentType: string;
  content: OpenContent;
}

export type Files = ReturnType<typeof createFiles>;

export function createFiles(deps: FilesDeps) {
  const { db, contents, config, onUpload = () => {}, onRefused = () => {} } = deps;
  const uploads = createUploadCount();
  const { maxFileBytes } = config;

  function toRecord(file: StoredUpload): FileRecord {
    return {
      id: fileIdOf(file.digest),
      ...(file.name !== null && { name: file.name }),
      size: file.size,
      contentType: file.contentType,
      createdAt: file.createdAt.toISOString(),
      expiresAt: new Date(file.usedAt.getTime() + config.fileTtlDays * DAY_MS).toISOString(),
    };
  }

  async function find(viewer: Viewer, digest: Digest): Promise<StoredUpload> {
    return (await findFile(db, digest, reachOf(viewer))) ?? refuseUnknown(digest);
  }

  async function open(file: Omit<OpenFile, "content">, key?: string): Promise<OpenFile> {
    const content = await contents.open(file.digest, key);
    if (content === null) throw new Error("the content of a file is missing");
    return { ...file, content };
  }

  async function openOf(
    which: Parameters<typeof findProcessFile>[1],
    processId: number,
    name: string,
    refusal: string,
    key?: string,
  ): Promise<OpenFile> {
    const found = await findProcessFile(db, which, processId, name);
    if (found === null) return refuseProcess(processId);
    if (which === "process_artifacts") requireEnded(processId, found.state);
    if (found.file === null) throw new AppError("not_found", refusal);
    return open(found.file, key);
  }

  function recordRefusal(error: unknown): never {
    const reason = error instanceof AppError ? UPLOAD_REFUSALS[error.code] : undefined;
    if (reason !== undefined) onRefused(reason);
    throw error;
  }

  async function takeUpload(
    { id: owner }: Viewer,
    declaredBytes: number | null,
    takes: () => Promise<Upload>,
  ): Promise<{ record: FileRecord; isNew: boolean }> {
    if (declaredBytes !== null && declaredBytes > maxFileBytes) throw tooLarge(maxFileBytes);
    using _counted = uploads.begin(owner);
    const room = await readRoom(db, owner, config.maxStoredBytes);
    room.check(declaredBytes ?? 0);
    let came = 0;
    let outcome: "stored" | "failed" = "failed";
    try {
      const { name, contentType, bytes } = await takes();
      const counted = limitBytes(bytes, maxFileBytes, (count) => {
        came += count;
        room.check(came);
      });
      const { digest } = await contents.put(counted, owner);
      const upload = { owner, digest, name, contentType };
      const { isNew, ...file } = await upsertFile(db, upload, config.maxStoredBytes);
      outcome = "stored";
      return { record: toRecord(file), isNew };
    } finally {
      onUpload(outcome, came);
    }
  }

  return {
    measure: () => contents.measure(),
    isStoreReachable: () => contents.isReachable(),

    /**
     * Stores bytes as they arrive; `takes` opens the stream after the upload is accepted. Throws body_too_large,
     * too_many_uploads, storage_full, and errors from the stream.
     */
    upload: (...given: Parameters<typeof takeUpload>) => takeUpload(...given).catch(recordRefusal),

    async list(
      viewer: Viewer,
      filter: FileFilter,
      page: PageRequest<number>,
    ): Promise<Omit<FileList, "nextCursor"> & { next: number | null }> {
      const { owner, all } = reachOf(viewer);
      const read = (at: PageRequest<number>) => listFiles(db, { ...filter, owner: all ? null : owner }, at);
      const [{ rows, next }, storedBytes] = await Promise.all([
        readNumberedPage(page, read),
        readStoredBytes(db, owner),
      ]);
      return { files: rows.map(toRecord), storedBytes, maxStoredBytes: config.maxStoredBytes, next };
    },

    get: async (viewer: Viewer, digest: Digest): Promise<FileRecord> => toRecord(await find(viewer, digest)),

    async open(viewer: Viewer, digest: Digest): Promise<OpenFile> {
      const { name, contentType, usedAt } = await find(viewer, digest);
      if (Date.now() - usedAt.getTime() > USE_NOTED_MS) await useFiles(db, [digest], reachOf(viewer));
      return open({ name, digest, contentType }, viewer.id);
    },

    /** Removes an upload; processes keep the files passed to them. Throws not_found. */
    async remove(viewer: Viewer, digest: Digest): Promise<void> {
      if (!(await deleteFile(db, digest, reachOf(viewer)))) refuseUnknown(digest);
    },

    async listArtifacts(processId: number): Promise<Artifact[]> {
      const left = (await readLeft(db, processId)) ?? refuseProcess(processId);
      return left.files.map(toArtifact);
    },

    /** Opens an artifact. Throws not_found, process_not_idle. */
    async openArtifact(processId: number, name: string, key?: string): Promise<OpenFile> {
      const refusal = `Process ${processId} left no such file. GET /processes/${processId}/artifacts lists those it left.`;
      return openOf("process_artifacts", processId, name, refusal, key);
    },

    async openGiven(processId: number, name: string, key?: string): Promise<OpenFile> {
      const refusal = `Process ${processId} was given no such file. GET /processes/${processId} lists those it was given (\`files\`).`;
      return openOf("process_files", processId, name, refusal, key);
    },

    /** Opens each artifact only when it is read. Throws not_found, process_not_idle. */
    async openAllArtifacts(
      processId: number,
      key?: string,
    ): Promise<{
      completedAt: Date;
      artifacts: { name: string; size: number; open(): Promise<OpenFile> }[];
    }> {
      const { state, completedAt, files } = (await readLeft(db, processId)) ?? refuseProcess(processId);
      requireEnded(processId, state);
      return {
        completedAt: completedAt ?? new Date(0),
        artifacts: files.map((row) => ({ name: row.name, size: row.size, open: () => open(row, key) })),
      };
    },
  };
}

function reachOf({ id, scopes }: Viewer): { owner: string; all: boolean } {
  return { owner: id, all: scopes.has("processes:all") };
}

function toArtifact({ name, size, digest, contentType }: NamedContent): Artifact {
  return { name, size, sha256: digest, contentType };
}

function refuseUnknown(digest: Digest): never {
  throw new AppError(
    "not_found",
    `This key has uploaded no file ${fileIdOf(digest)}, or it has expired. Files of other keys need the scope processes:all.`,
  );
}

/**
 * Requires a finished run: a queued or running one has discarded the previous artifacts and stores new ones at its
 * end.
 */
function requireEnded(id: number, state: string): void {
  if (state === "idle") return;
  throw new AppError(
    "process_not_idle",
    `Process ${id} is ${state}: its artifacts are available when the run has ended. Wait for it, or kill it.`,
  );
}

function refuseProcess(id: number): never {
  throw new AppError("not_found", `There is no process ${id}.`);
}
