/** Files of a local run: its input files, and the artifacts it writes. */
import { checkFileName, contentTypeOf } from "#kernel/file-names.ts";
import { type StoredFile, Workspace } from "#runner/workspace/workspace.ts";
import { type SavedAnswer, writeExactJson } from "#sdk";
import type { LocalExecuteOptions } from "../kernel/local-model.ts";

/** Limits of input files and artifacts, the same as a server's defaults. */
export const MAX_WORKSPACE_BYTES = 64 * 1024 * 1024;
export const MAX_WORKSPACE_FILES = 1_000;

type Given = NonNullable<LocalExecuteOptions["files"]>;

/** @throws TypeError for an invalid name, or too many files or bytes */
export function listGiven(given: Given = {}): StoredFile[] {
  const files = Object.entries(given).map(([name, content]) => {
    const wrong = checkFileName(name);
    if (wrong !== null) throw new TypeError(`The file name ${JSON.stringify(name)} ${wrong}.`);
    if (typeof content !== "string" && "read" in content) {
      const { size, contentType = contentTypeOf(name), read } = content;
      return { name, size, contentType, read };
    }
    const bytes = Buffer.from(content);
    const read = async (offset: number, length: number) => bytes.subarray(offset, offset + length);
    return { name, size: bytes.length, contentType: contentTypeOf(name), read };
  });
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (files.length > MAX_WORKSPACE_FILES || bytes > MAX_WORKSPACE_BYTES) {
    throw new TypeError(
      `A run is given at most ${MAX_WORKSPACE_FILES} files of ${MAX_WORKSPACE_BYTES} bytes together; found ${files.length} of ${bytes}.`,
    );
  }
  return files;
}

export function openWorkspace(files: readonly StoredFile[]): Workspace {
  return new Workspace({ files, maxBytes: MAX_WORKSPACE_BYTES, maxFiles: MAX_WORKSPACE_FILES });
}

/** Saves a tool's result as a file: bytes and text unchanged, anything else as JSON. */
export async function saveResult(workspace: Workspace, name: string, result: unknown): Promise<SavedAnswer> {
  const [contentType, bytes] =
    result instanceof Uint8Array
      ? [contentTypeOf(name), result]
      : typeof result === "string"
        ? ["text/plain", Buffer.from(result)]
        : ["application/json", Buffer.from(writeExactJson(result ?? null).text ?? "null")];
  const pieces = (async function* () {
    yield bytes;
  })();
  const { size } = await workspace.save(name, pieces);
  return { answer: { file: name, size, contentType }, size };
}

/** Passes on the files that the run wrote, and deletes them. */
export async function giveArtifacts(
  workspace: Workspace,
  onArtifact: LocalExecuteOptions["onArtifact"],
): Promise<void> {
  await using taken = workspace;
  if (onArtifact === undefined) return;
  for (const { name, size, contentType, read } of taken.artifacts()) {
    await onArtifact(name, { size, contentType, read });
  }
}
