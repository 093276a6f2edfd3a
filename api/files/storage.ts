import { tmpdir } from "node:os";
import type { Config } from "#api/config.ts";
import type { Pool } from "#api/db/pool.ts";
import type { ProcessFiles } from "#api/processes/model/files.ts";
import type { Redactor } from "#api/secrets/redactor.ts";
import { openSpools } from "#runner/workspace/spool.ts";
import type { ModuleLogger } from "#sdk";
import { type ContentStore, createContents } from "./contents/contents.ts";
import { createFiles, type Files, type FilesDeps } from "./service.ts";
import { type FileSweep, startFileSweeps } from "./sweep.ts";
import { createWorkspaces } from "./workspaces.ts";

export interface FileStorage extends AsyncDisposable {
  files: Files;
  workspaces: ProcessFiles;
  contents: ContentStore;
  start(): void;
  /** On shutdown, stops waiting for the object store and starts no new requests. */
  giveUp(): void;
}

export interface FileStorageOptions {
  pool: Pool;
  config: Pick<
    Config,
    | "maxFileBytes"
    | "maxWorkspaceBytes"
    | "maxStoredBytes"
    | "spoolDirectory"
    | "maxSpoolBytes"
    | "fileTtlDays"
    | "objectStore"
    | "objectStorePathStyle"
    | "objectStoreTimeoutMs"
  >;
  redactor: Redactor;
  onUpload: NonNullable<FilesDeps["onUpload"]>;
  onRefused: NonNullable<FilesDeps["onRefused"]>;
  onSwept: NonNullable<FileSweep["onSwept"]>;
  log: ModuleLogger;
}

export async function openFileStorage(options: FileStorageOptions): Promise<FileStorage> {
  const { pool, config, redactor, onUpload, onRefused, onSwept, log } = options;
  const open = new AsyncDisposableStack();
  const buckets = open.use(new DisposableStack());
  const contents = createContents({ db: pool, bucket: await openBuckets(options, buckets), log });
  const files = createFiles({ db: pool, contents, config, onUpload, onRefused });
  return {
    files,
    contents,
    workspaces: createWorkspaces({
      db: pool,
      contents,
      redactor,
      maxWorkspaceBytes: config.maxWorkspaceBytes,
      maxStoredBytes: config.maxStoredBytes,
      onRefused,
      spools: await openSpools({
        folder: config.spoolDirectory ?? tmpdir(),
        maxBytes: config.maxSpoolBytes,
      }),
    }),
    start() {
      open.use(startFileSweeps({ pool, contents, ttlDays: config.fileTtlDays, log, onSwept }));
    },
    giveUp: () => buckets.dispose(),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

async function openBuckets({ config, log }: FileStorageOptions, opened: DisposableStack) {
  const { objectStore, objectStorePathStyle, objectStoreTimeoutMs } = config;
  if (objectStore === null) return null;
  const { createBucket } = await import("./contents/bucket.ts");
  return {
    place: objectStore,
    open(place: string) {
      const bucket = createBucket(place, {
        pathStyle: objectStorePathStyle,
        attemptTimeoutMs: objectStoreTimeoutMs,
        log,
      });
      if (opened.disposed) bucket.close();
      else opened.defer(bucket.close);
      return bucket;
    },
  };
}
