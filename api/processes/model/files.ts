/** What a process is given as files and what its run leaves: as clients send and see it. */

import { z } from "zod";
import { checkFileName } from "#kernel/file-names.ts";
import type { Spools } from "#runner/workspace/spool.ts";

/** Given to a run, and left by one. */
export const MAX_FILES = 1000;

const fileSourceSchema = z.union(
  [
    z.strictObject({ id: z.string().max(100).describe("Of an upload: `POST /files`.") }),
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

/** Values of members are not shown: they may be content. */
function describeSource(input: unknown): string {
  if (typeof input === "string") return 'a text: write {"text": "…"}';
  if (input === null) return "null";
  if (Array.isArray(input)) return "a list";
  if (typeof input !== "object") return `a ${typeof input}`;
  const members = Object.entries(input).map(([name, value]) => `${JSON.stringify(name)}: ${typeof value}`);
  return `{${members.join(", ").slice(0, MAX_SHOWN_CHARACTERS).toWellFormed()}}`;
}

/** By name: where the content comes from. */
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

/** Of a script among its files. */
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
 * Why files were not taken. `quota`: all that a key may keep. `workspace`: what a process may be given. `artifacts`, `spool`: see
 * WorkspaceLimit. `file_size`, `uploads`: of one upload, and how many come at once.
 */
export type FileRefusal = "quota" | "workspace" | "artifacts" | "spool" | "file_size" | "uploads";

/** Whose uploads may be given: the caller's own, and with `all` those of every key. */
export interface FilesOwner {
  owner: string;
  all: boolean;
}

/** A file of a workspace, as it lies somewhere. */
export interface ArtifactSource {
  name: string;
  /** Bytes. */
  size: number;
  contentType: string;
  /** Fewer bytes than `length` only at the end. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** What processes need of the store of files. */
export interface ProcessFiles {
  /** Of a key, for the statement that stores a process with files. */
  readonly maxStoredBytes: number | null;
  /** Where runs keep what they write while they are under way. Null: in the system's folder for temporary files. */
  readonly spools: Spools | null;
  /** Looks up what was uploaded, and stores what is given as text. Throws invalid_request, naming the file, and storage_full. */
  take(given: GivenFiles, owner: FilesOwner): Promise<ProcessFile[]>;
  /** As runs read them. Nothing is read before that. `owner`: for whom. */
  open(files: readonly ProcessFile[], owner?: string): ArtifactSource[];
  /**
   * Stores contents, and answers what to store with the ending (`LiveRun.artifacts`): from then on they are kept. Known secrets
   * in text are replaced. `refused`: why its owner has no room for them, as a sentence. Rejects when one cannot be stored or read.
   */
  storeArtifacts(
    artifacts: readonly ArtifactSource[],
    processId: number,
  ): Promise<ProcessArtifact[] | { refused: string }>;
  /**
   * Stores contents of a process as they are; they are kept for a while, and as long as something refers to them. Throws
   * storage_full where its owner has no room for them.
   */
  store(files: readonly ArtifactSource[], processId: number): Promise<ProcessFile[]>;
  /** To be told where a statement of others was refused for `maxStoredBytes`. */
  onFull?(): void;
}

/** Parses the stored list of files that runs find in their workspace. */
export function readGivenFiles(files: string | null): ProcessFile[] {
  return files === null ? [] : JSON.parse(files);
}
