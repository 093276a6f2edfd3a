/**
 * File access for processes: finds or stores the files passed to them, reads these for runs, and stores artifacts.
 * Rows that refer to contents are written together with the process or the end of its run.
 */

import { createHash } from "node:crypto";
import pLimit from "p-limit";
import type { Db } from "#api/db/pool.ts";
import { isStorageFull, storageFull } from "#api/db/stored-bytes.ts";
import type {
  ArtifactSource,
  FileRefusal,
  FilesOwner,
  GivenFiles,
  ProcessArtifact,
  ProcessFile,
  ProcessFiles,
} from "#api/processes/model/files.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import { contentTypeOf } from "#kernel/file-names.ts";
import type { Spools } from "#runner/workspace/spool.ts";
import { readWhole } from "#runner/workspace/workspace.ts";
import { AppError } from "../errors.ts";
import { readArtifact } from "./artifacts.ts";
import type { OpenContent } from "./contents/checked.ts";
import type { ContentStore } from "./contents/contents.ts";
import { type Digest, digestOf, fileIdOf, fileIdSchema } from "./model.ts";
import { countLeft, findCounted, readProcessOwner, readStoredBytes, useFiles } from "./store.ts";

const MAX_AT_ONCE = 4;

export interface WorkspacesDeps {
  db: Db;
  contents: ContentStore;
  redactor: Redactor;
  maxWorkspaceBytes: number;
  maxStoredBytes: number | null;
  spools: Spools;
  onRefused?: (reason: FileRefusal) => void;
}

export function createWorkspaces({
  db,
  contents,
  redactor,
  maxWorkspaceBytes,
  maxStoredBytes,
  spools,
  onRefused = () => {},
}: WorkspacesDeps): ProcessFiles {
  /**
   * Checks the storage limit before storing bytes that would only be swept again. The statement that counts them
   * decides; this check keeps a key over its limit from filling the store between two sweeps. Throws storage_full.
   */
  async function checkRoom(owner: string, pending: readonly Pending[]): Promise<void> {
    if (maxStoredBytes === null || pending.length === 0) return;
    const used = await readStoredBytes(db, owner);
    if (used + sum(pending) <= maxStoredBytes) return;
    // Contents that the owner already has need no more room.
    const contents = new Map<Digest, { size: number }>();
    for (const { read } of pending) {
      const { digest, size } = await measure(await read());
      contents.set(digest, { size });
    }
    for (const digest of await findCounted(db, owner, [...contents.keys()])) contents.delete(digest);
    const added = sum([...contents.values()]);
    if (added > 0 && used + added > maxStoredBytes) throw storageFull(used, maxStoredBytes);
  }

  /** Returns the process owner after checking that the pending contents fit their storage limit. */
  async function requireRoom(processId: number, pending: readonly Pending[]): Promise<string | undefined> {
    const owner = await readProcessOwner(db, processId);
    if (owner !== undefined) await checkRoom(owner, pending);
    return owner;
  }

  async function take(given: GivenFiles, owner: FilesOwner): Promise<ProcessFile[]> {
    const files = Object.entries(given);
    const uploads = await findUploads(db, files, owner);
    let bytes = 0;
    const pending: Pending[] = [];
    const limit = pLimit(MAX_AT_ONCE);
    const sized = files.map(([name, source]) => {
      if ("id" in source) {
        const upload = uploads.get(digestOf(source.id));
        if (upload === undefined) {
          throw refuse(
            name,
            `names the file ${source.id.slice(0, 100)}, which this key did not upload or which has expired.`,
          );
        }
        bytes += upload.size;
        return async () => ({ name, id: source.id, ...upload });
      }
      const content = "text" in source ? Buffer.from(source.text) : Buffer.from(source.base64, "base64");
      bytes += content.length;
      pending.push({ size: content.length, read: async () => once(content) });
      return async () => {
        const { digest, size } = await contents.put(once(content), owner.owner);
        return { name, id: fileIdOf(digest), size, contentType: contentTypeOf(name) };
      };
    });
    if (bytes > maxWorkspaceBytes) {
      onRefused("workspace");
      const found = `have ${bytes} bytes in total; a run may be given at most ${maxWorkspaceBytes} (CYRNEL_MAX_WORKSPACE_BYTES).`;
      throw refuse(null, found);
    }
    await checkRoom(owner.owner, pending).catch((error) => {
      if (isStorageFull(error)) onRefused("quota");
      throw error;
    });
    return Promise.all(sized.map((stored) => limit(stored)));
  }

  return {
    maxStoredBytes,
    spools,
    onFull: () => onRefused("quota"),
    take,
    open(files, owner) {
      return files.map(({ id, ...file }) => {
        let opened: Promise<OpenContent> | null = null;
        return {
          ...file,
          async read(offset, length) {
            opened ??= openContent(contents, id, owner);
            return (await opened).read(offset, length);
          },
        };
      });
    },
    async storeArtifacts(artifacts, processId) {
      const limit = pLimit(MAX_AT_ONCE);
      const read = (artifact: ArtifactSource) => readArtifact(artifact, redactor);
      const store = async (artifact: ArtifactSource, owner?: string): Promise<ProcessArtifact> => {
        const { digest, size } = await contents.put(await read(artifact), owner);
        return { name: artifact.name, size, sha256: digest, contentType: artifact.contentType };
      };
      try {
        const pending = artifacts.map((artifact) => ({ size: artifact.size, read: () => read(artifact) }));
        const owner = await requireRoom(processId, pending);
        const stored = await Promise.all(artifacts.map((artifact) => limit(() => store(artifact, owner))));
        const digests = stored.map(({ sha256 }) => sha256);
        await countLeft(db, processId, digests, maxStoredBytes);
        return stored;
      } catch (error) {
        if (isStorageFull(error)) return { refused: error.message };
        throw error;
      }
    },
    async store(files, processId) {
      const owner = await requireRoom(
        processId,
        files.map((file) => ({ size: file.size, read: async () => readWhole(file) })),
      );
      const limit = pLimit(MAX_AT_ONCE);
      const storeOne = async (file: ArtifactSource): Promise<ProcessFile> => {
        const { name, contentType } = file;
        const { digest, size } = await contents.put(readWhole(file), owner);
        return { name, id: fileIdOf(digest), size, contentType };
      };
      return Promise.all(files.map((file) => limit(() => storeOne(file))));
    },
  };
}

async function findUploads(db: Db, files: [string, GivenFiles[string]][], owner: FilesOwner) {
  const digests = new Set<string>();
  for (const [name, source] of files) {
    if (!("id" in source)) continue;
    if (!fileIdSchema.safeParse(source.id).success) throw refuse(name, "has an id that is not a file id.");
    digests.add(digestOf(source.id));
  }
  return digests.size === 0 ? new Map() : useFiles(db, [...digests], owner);
}

async function openContent(contents: ContentStore, id: string, owner?: string): Promise<OpenContent> {
  const content = await contents.open(digestOf(id), owner);
  if (content === null) throw new Error("the content of a process's file is missing");
  return content;
}

interface Pending {
  size: number;
  read(): Promise<AsyncIterable<Uint8Array>>;
}

const sum = (all: readonly { size: number }[]) => all.reduce((bytes, { size }) => bytes + size, 0);

async function measure(bytes: AsyncIterable<Uint8Array>): Promise<{ digest: Digest; size: number }> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const piece of bytes) {
    hash.update(piece);
    size += piece.length;
  }
  return { digest: hash.digest("hex"), size };
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** `message` completes a sentence that begins with the field's name. */
function refuse(name: string | null, message: string): AppError {
  const path = name === null ? "body.files" : `body.files.${name}`;
  return new AppError("invalid_request", `The request is not valid: ${path}: ${message}`, {
    issues: [{ path, message }],
  });
}
