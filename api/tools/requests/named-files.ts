/** Files of a call: those shown to an approver, and those sent or saved. */
import { createHash } from "node:crypto";
import type { CallFiles, FileContent } from "#sdk";
import type { MovedFile, NamedFile } from "../contract.ts";
import { refuseCall } from "../failure.ts";

const MAX_NAMES = 100;
const MAX_DEPTH = 64;

/** Describes every `{file: "name"}` in the parameters that names a workspace file. */
export async function describeNamedFiles(
  parameters: Record<string, unknown>,
  files: CallFiles,
  signal: AbortSignal,
): Promise<NamedFile[]> {
  const found: NamedFile[] = [];
  for (const name of listNames(parameters)) {
    // A member named `file` may be anything. If no such file exists, it cannot be sent.
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
        `A call that needs approval can name at most ${MAX_NAMES} files.`,
      );
    }
    for (const member of Object.values(value)) visit(member, depth + 1);
  }
  visit(parameters, 0);
  return names;
}

export function limitFiles(files: CallFiles, shown: readonly NamedFile[]): CallFiles {
  const names = new Set(shown.map(({ name }) => name));
  return {
    async open(name) {
      if (names.has(name)) return files.open(name);
      throw refuseCall("invalid_parameters", `The file ${JSON.stringify(name)} was not approved.`);
    },
  };
}

export async function openNoting(files: CallFiles, name: string, moved: MovedFile[]): Promise<FileContent> {
  const { stream, ...content } = await files.open(name);
  return { ...content, stream: () => recordBytes(moved, name, "sent", stream()) };
}

/** Passes bytes through, and records their number and finally their digest. */
export async function* recordBytes(
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

export function measureBody(body: unknown, files: readonly NamedFile[]): number | undefined {
  if (typeof body === "string") return Buffer.byteLength(body);
  const { base64, file } = (body ?? {}) as { base64?: unknown; file?: unknown };
  if (typeof base64 === "string") return Buffer.byteLength(base64, "base64");
  return files.find(({ name }) => name === file)?.size;
}
