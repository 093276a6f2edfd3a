/**
 * What processes need of the store of files: what they are given is looked up or stored, runs read it, and what runs leave is
 * stored. The rows that name contents are written with the process and with the ending of its run.
 */
import { createGate } from "#api/bounds/parallel.ts";
import type { Db } from "#api/db/pool.ts";
import { isStorageFull } from "#api/db/stored-bytes.ts";
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
import { contentTypeOf } from "#runner/file-names.ts";
import type { Spools } from "#runner/workspace/spool.ts";
import { readWhole } from "#runner/workspace/workspace.ts";
import { AppError } from "../errors.ts";
import { readArtifact } from "./artifacts.ts";
import type { ContentStore, OpenContent } from "./contents/contents.ts";
import { digestOf, fileIdOf, fileIdSchema } from "./model.ts";
import { countLeft, useFiles } from "./store.ts";

/** Contents of one process that are stored at once. */
const MAX_AT_ONCE = 4;

export interface WorkspacesDeps {
  db: Db;
  contents: ContentStore;
  redactor: Redactor;
  maxWorkspaceBytes: number;
  /** Of a key; null: as much as there is room for. */
  maxStoredBytes: number | null;
  spools: Spools;
  /** Told of what a process is not given. */
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
  async function take(given: GivenFiles, owner: FilesOwner): Promise<ProcessFile[]> {
    const files = Object.entries(given);
    const uploads = await findUploads(db, files, owner);
    let bytes = 0;
    const gate = createGate({ maxRunning: MAX_AT_ONCE });
    const sized = files.map(([name, source]) => {
      if ("id" in source) {
        const upload = uploads.get(digestOf(source.id));
        if (upload === undefined) {
          throw refuse(
            name,
            `names the file ${source.id.slice(0, 100)}, which this key has not, or not any more.`,
          );
        }
        bytes += upload.size;
        return async () => ({ name, id: source.id, ...upload });
      }
      const content = "text" in source ? Buffer.from(source.text) : Buffer.from(source.base64, "base64");
      bytes += content.length;
      return async () => {
        const { digest, size } = await contents.put(once(content));
        return { name, id: fileIdOf(digest), size, contentType: contentTypeOf(name) };
      };
    });
    if (bytes > maxWorkspaceBytes) {
      onRefused("workspace");
      const found = `hold ${bytes} bytes together; at most ${maxWorkspaceBytes} are given to a run (CYRNEL_MAX_WORKSPACE_BYTES).`;
      throw refuse(null, found);
    }
    return Promise.all(sized.map((stored) => gate.run(stored)));
  }

  return {
    maxStoredBytes,
    spools,
    onFull: () => onRefused("quota"),
    take,
    open(files) {
      return files.map(({ id, ...file }) => {
        let opened: Promise<OpenContent> | null = null;
        return {
          ...file,
          async read(offset, length) {
            opened ??= openContent(contents, id);
            return (await opened).read(offset, length);
          },
        };
      });
    },
    async storeArtifacts(artifacts, processId) {
      const gate = createGate({ maxRunning: MAX_AT_ONCE });
      const store = async (artifact: ArtifactSource): Promise<ProcessArtifact> => {
        const { digest, size } = await contents.put(await readArtifact(artifact, redactor));
        return { name: artifact.name, size, sha256: digest, contentType: artifact.contentType };
      };
      const stored = await Promise.all(artifacts.map((artifact) => gate.run(() => store(artifact))));
      try {
        const digests = stored.map(({ sha256 }) => sha256);
        await countLeft(db, processId, digests, maxStoredBytes);
      } catch (error) {
        if (isStorageFull(error)) return { refused: error.message };
        throw error;
      }
      return stored;
    },
    async store(files) {
      const gate = createGate({ maxRunning: MAX_AT_ONCE });
      const storeOne = async (file: ArtifactSource): Promise<ProcessFile> => {
        const { name, contentType } = file;
        const { digest, size } = await contents.put(readWhole(file));
        return { name, id: fileIdOf(digest), size, contentType };
      };
      return Promise.all(files.map((file) => gate.run(() => storeOne(file))));
    },
  };
}

async function findUploads(db: Db, files: [string, GivenFiles[string]][], owner: FilesOwner) {
  const digests = new Set<string>();
  for (const [name, source] of files) {
    if (!("id" in source)) continue;
    if (!fileIdSchema.safeParse(source.id).success) throw refuse(name, "has an id that is none of a file.");
    digests.add(digestOf(source.id));
  }
  return digests.size === 0 ? new Map() : useFiles(db, [...digests], owner);
}

async function openContent(contents: ContentStore, id: string): Promise<OpenContent> {
  const content = await contents.open(digestOf(id));
  if (content === null) throw new Error("the content of a process's file is not there");
  return content;
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** `message` goes on after the name of the field. */
function refuse(name: string | null, message: string): AppError {
  const path = name === null ? "body.files" : `body.files.${name}`;
  return new AppError("invalid_request", `The request is not valid: ${path}: ${message}`, {
    issues: [{ path, message }],
  });
}
