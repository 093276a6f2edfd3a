/**
 * The files of a call: those that its parameters name, for a person who decides about it (what is sent afterwards are exactly these),
 * and those that went, for its record.
 */
import { createHash } from "node:crypto";
import type { CallFiles, FileContent } from "#sdk";
import type { MovedFile, NamedFile } from "../contract.ts";
import { refuseCall } from "../failure.ts";

const MAX_NAMES = 100;
const MAX_DEPTH = 64;

/** Every `{file: "name"}` in the parameters that is a file of the workspace, with its content as it is at the call. */
export async function describeNamedFiles(
  parameters: Record<string, unknown>,
  files: CallFiles,
  signal: AbortSignal,
): Promise<NamedFile[]> {
  const found: NamedFile[] = [];
  for (const name of listNames(parameters)) {
    // A member that is called `file` may be anything; what is no file cannot be sent.
    const content = await files.open(name).catch(() => null);
    if (content === null) continue;
    const hash = createHash("sha256");
    for await (const piece of content.stream()) {
      signal.throwIfAborted();
      hash.update(piece);
    }
    found.push({ name, size: content.size, contentType: content.contentType, sha256: hash.digest("hex") });
  }
  return found;
}

function listNames(parameters: unknown): Set<string> {
  const names = new Set<string>();
  function visit(value: unknown, depth: number): void {
    if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return;
    const { file } = value as { file?: unknown };
    if (typeof file === "string") names.add(file);
    if (names.size > MAX_NAMES) {
      throw refuseCall(
        "invalid_parameters",
        `A call that a person decides about names at most ${MAX_NAMES} files.`,
      );
    }
    for (const member of Object.values(value)) visit(member, depth + 1);
  }
  visit(parameters, 0);
  return names;
}

/** Of a call that was approved: no file but those that the person was shown. */
export function limitFiles(files: CallFiles, shown: readonly NamedFile[]): CallFiles {
  const names = new Set(shown.map(({ name }) => name));
  return {
    async open(name) {
      if (names.has(name)) return files.open(name);
      throw refuseCall(
        "invalid_parameters",
        `The file ${JSON.stringify(name)} is not part of what was approved.`,
      );
    },
  };
}

/** Opens a file of the workspace, and notes in `moved` what is read of it: measured as it goes by, so that it is what went. */
export async function openNoting(files: CallFiles, name: string, moved: MovedFile[]): Promise<FileContent> {
  const { stream, ...content } = await files.open(name);
  return { ...content, stream: () => noteBytes(moved, name, "sent", stream()) };
}

/** The same bytes; `moved` is told how many went by, and when it was all of them, their digest. */
export async function* noteBytes(
  moved: MovedFile[],
  name: string,
  use: MovedFile["use"],
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const file: MovedFile = { name, use, size: 0, sha256: null };
  if (moved.length < MAX_NAMES) moved.push(file);
  const hash = createHash("sha256");
  for await (const piece of bytes) {
    hash.update(piece);
    file.size += piece.length;
    yield piece;
  }
  file.sha256 = hash.digest("hex");
}

/** The bytes of a body as parameters of a request give it; undefined: there is none. */
export function measureBody(body: unknown, files: readonly NamedFile[]): number | undefined {
  if (typeof body === "string") return Buffer.byteLength(body);
  const { base64, file } = (body ?? {}) as { base64?: unknown; file?: unknown };
  if (typeof base64 === "string") return Buffer.byteLength(base64, "base64");
  return files.find(({ name }) => name === file)?.size;
}
