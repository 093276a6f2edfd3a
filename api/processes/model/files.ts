import { z } from "zod";
import { checkFileName } from "#kernel/file-names.ts";
import type { Spools } from "#runner/workspace/spool.ts";

export const MAX_FILES = 1000;

const fileSourceSchema = z.union(
  [
    z.strictObject({ id: z.string().max(100).describe("Id of an upload, from `POST /files`.") }),
    z.strictObject({
      text: z.string().refine((text) => text.isWellFormed(), "must be well-formed Unicode."),
    }),
    z.strictObject({ base64: z.base64() }),
  ],
  {
    error: ({ input }) =>
      `expected one of {"id": "sha256-…"}, {"text": "…"} and {"base64": "…"}; found ${describeSource(input)}`,
  },
);

const MAX_SHOWN_CHARACTERS = 100;

/** Omits member values, because they may be file content. */
function describeSource(input: unknown): string {
  if (typeof input === "string") return 'a text: write {"text": "…"}';
  if (input === null) return "null";
  if (Array.isArray(input)) return "a list";
  if (typeof input !== "object") return `a ${typeof input}`;
  const members = Object.entries(input).map(([name, value]) => `${JSON.stringify(name)}: ${typeof value}`);
  return `{${members.join(", ").slice(0, MAX_SHOWN_CHARACTERS).toWellFormed()}}`;
}

/** File name -> content source. */
export const givenFilesSchema = z
  .record(z.string(), fileSourceSchema)
  .superRefine((files, context) => {
    const names = Object.keys(files);
    const refuse = (name: string, message: string) =>
      context.addIssue({ code: "custom", path: [name.slice(0, 300)], message });
    if (names.length > MAX_FILES) {
      context.addIssue({
        code: "custom",
        message: `at most ${MAX_FILES} files may be given, found ${names.length}.`,
      });
      return;
    }
    const known = new Set(names);
    for (const name of names) {
      const wrong = checkFileName(name);
      if (wrong !== null) refuse(name, `The file name ${wrong}.`);
      for (let end = name.indexOf("/"); end !== -1; end = name.indexOf("/", end + 1)) {
        const folder = name.slice(0, end);
        if (known.has(folder)) refuse(name, `${folder} cannot be a file and the folder of another at once.`);
      }
    }
  })
  .describe("Files that the script finds in its workspace, by name.");
export type GivenFiles = z.output<typeof givenFilesSchema>;

export const scriptNameSchema = z.string().superRefine((name, context) => {
  const wrong = checkFileName(name);
  if (wrong !== null) context.addIssue({ code: "custom", message: `The file name ${wrong}.` });
});

const fields = { name: z.string(), size: z.int().nonnegative().describe("Bytes."), contentType: z.string() };
export const processFileSchema = z
  .object({ ...fields, id: z.string() })
  .meta({ id: "ProcessFile", description: "A file that a process is given." });
export type ProcessFile = z.output<typeof processFileSchema>;
export const processArtifactSchema = z
  .object({ ...fields, sha256: z.string().describe("Of the content, in hexadecimal.") })
  .meta({ id: "ProcessArtifact", description: "A file that the last run left." });
export type ProcessArtifact = z.output<typeof processArtifactSchema>;

/**
 * Why files were not accepted. `quota`: the storage quota of a key. `workspace`: the limit on files given to a
 * process. `artifacts`, `spool`: see WorkspaceLimit. `file_size`, `uploads`: the size of one upload and the number of
 * concurrent uploads.
 */
export type FileRefusal = "quota" | "workspace" | "artifacts" | "spool" | "file_size" | "uploads";

/** Whose uploads may be given: the caller's own or, with `all`, those of every key. */
export interface FilesOwner {
  owner: string;
  all: boolean;
}

export interface ArtifactSource {
  name: string;
  size: number;
  contentType: string;
  /** Returns fewer bytes than `length` only at the end of the file. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** The part of the file store that processes use. */
export interface ProcessFiles {
  /** Storage quota of a key, for the statement that stores a process with files. */
  readonly maxStoredBytes: number | null;
  /** Folder for files that runs are still writing. Null uses the system's temporary folder. */
  readonly spools: Spools | null;
  /** Looks up uploads and stores files given as text. Throws invalid_request, naming the file, and storage_full. */
  take(given: GivenFiles, owner: FilesOwner): Promise<ProcessFile[]>;
  /** Opens files for runs. Contents are read only on demand. `owner` is the key they are read for. */
  open(files: readonly ProcessFile[], owner?: string): ArtifactSource[];
  /**
   * Stores contents and returns the artifacts to store with the ending (`LiveRun.artifacts`), which then retains
   * them. Known secrets in text are replaced. `refused` is a message if the owner's quota is exceeded. Rejects if a
   * file cannot be stored or read.
   */
  storeArtifacts(
    artifacts: readonly ArtifactSource[],
    processId: number,
  ): Promise<ProcessArtifact[] | { refused: string }>;
  /**
   * Stores contents of a process unchanged. They are retained for a while, and as long as something references them.
   * Throws storage_full if the owner's quota is exceeded.
   */
  store(files: readonly ArtifactSource[], processId: number): Promise<ProcessFile[]>;
  /** Call when another statement was rejected because of `maxStoredBytes`. */
  onFull?(): void;
}

export function readGivenFiles(files: string | null): ProcessFile[] {
  return files === null ? [] : JSON.parse(files);
}
