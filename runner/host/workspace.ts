/**
 * The files of one run on the host: what it was given, read where it lies, and what it writes, kept in one temporary file
 * without a name. No name that a script chose is ever opened: it is a key of a map here, and nothing else.
 */
import { randomUUID } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { CallFiles, FileWrite, SaveTurn, WorkspaceFile } from "#sdk";
import { checkFileName, contentTypeOf, WORKSPACE_LIMIT_ERROR } from "../file-names.ts";

/** A script wrote more than a run may. */
class WorkspaceLimitError extends Error {
  override readonly name = WORKSPACE_LIMIT_ERROR;
}

/** Reads at `offset`: fewer bytes than `length` only at the end of what is read. */
export type ReadAt = (offset: number, length: number) => Promise<Uint8Array>;

/** A file as it lies somewhere. */
export interface StoredFile extends WorkspaceFile {
  read: ReadAt;
}

export interface Workspace extends AsyncDisposable {
  /** Fewer bytes than `length` at the end, of the file as earlier calls leave it. Rejects with code `file_not_found`. */
  read(name: string, offset: number, length: number): Promise<Uint8Array>;
  /** The file's size, as the next read finds it. Rejects with code `invalid_file_name`, or with a WorkspaceLimitError. */
  write(request: FileWrite): Promise<{ size: number }>;
  /** Rejects with code `file_not_found`. */
  remove(name: string): Promise<void>;
  /** Throws with code `invalid_file_name` where no file of this name could be written now. */
  checkName(name: string): void;
  /**
   * Writes a file of these bytes: all of them, or nothing is changed. Answers what was written, which stays as it is whatever becomes
   * of the name. Its place among reads and writes is where `turn` says. Rejects as `write`, and as `bytes`.
   */
  save(name: string, bytes: AsyncIterable<Uint8Array>, turn?: SaveTurn): Promise<StoredFile>;
  /** The files as they are now, with what has been asked to be written: nothing that is written later is in them. */
  snapshot(): CallFiles;
  /** What was written and is complete, in the order of first writing. Can be read until the workspace is disposed. */
  artifacts(): StoredFile[];
}

export interface WorkspaceOptions {
  /** What the run finds. */
  files: readonly StoredFile[];
  /** Of all that was written and not replaced since. */
  maxBytes: number;
  maxFiles: number;
}

/** Of what is read in one go for a call. */
const READ_BYTES = 256 * 1024;
/** How much more than it may keep a run may write, replacing what it wrote before. */
const MAX_REWRITES = 8;

/** A piece of a file: of what was given, or of the spool. */
interface Extent {
  read: ReadAt | "spool";
  at: number;
  length: number;
}

/** Never changed once it has a name. */
interface Content {
  extents: Extent[];
  size: number;
  contentType: string;
}

export function createWorkspace({ files, maxBytes, maxFiles }: WorkspaceOptions): Workspace {
  const contents = new Map<string, Content>();
  for (const { name, size, contentType, read } of files) {
    contents.set(name, { extents: size > 0 ? [{ read, at: 0, length: size }] : [], size, contentType });
  }
  const written = new Set<string>();
  /** Writes whose last piece is still to come. */
  const unfinished = new Map<number, { name: string; content: Content }>();
  /** Resolves when the changes so far are made: they are made one after another. */
  let changes: Promise<unknown> = Promise.resolve();
  /** Numbers of the host's own writes: those of scripts are positive. */
  let lastSave = 0;
  let isDisposed = false;
  let spool: Promise<FileHandle> | null = null;
  let spoolEnd = 0;

  /** Does `change` once those before are done. */
  function queue<T>(change: () => T | Promise<T>): Promise<T> {
    const done = changes.then(() => {
      if (isDisposed) throw new Error("The run of this workspace has ended.");
      return change();
    });
    changes = done.then(noop, noop);
    return done;
  }

  function checkName(name: string): void {
    const wrong = checkFileName(name);
    if (wrong !== null) throw fileError("invalid_file_name", `The file name ${quote(name)} ${wrong}.`);
    checkRoom(contents, name);
  }

  async function append(content: Content, data: Uint8Array): Promise<void> {
    if (data.length === 0) return;
    spool ??= openSpool();
    const at = spoolEnd;
    spoolEnd += data.length;
    if (spoolEnd > maxBytes * MAX_REWRITES) {
      throw new WorkspaceLimitError(
        `The run wrote more than ${maxBytes * MAX_REWRITES} bytes to files, counting what it replaced.`,
      );
    }
    const last = content.extents.at(-1);
    if (last?.read === "spool" && last.at + last.length === at) last.length += data.length;
    else content.extents.push({ read: "spool", at, length: data.length });
    content.size += data.length;
    await writeWhole(await spool, data, at);
  }

  /** Everything a run keeps, and what of it is still being written. */
  function checkLimits(): void {
    let bytes = 0;
    for (const name of written) bytes += contents.get(name)?.size ?? 0;
    for (const { content } of unfinished.values()) bytes += content.size;
    const count = written.size + unfinished.size;
    if (bytes > maxBytes || count > maxFiles) {
      throw new WorkspaceLimitError(
        `The run wrote ${count} files of ${bytes} bytes together; at most ${maxFiles} files and ${maxBytes} bytes are kept.`,
      );
    }
  }

  async function write({ name, data, mode, more, write }: FileWrite): Promise<{ size: number }> {
    const wrong = checkFileName(name);
    if (wrong !== null) throw fileError("invalid_file_name", `The file name ${quote(name)} ${wrong}.`);
    const begun = unfinished.get(write) ?? {
      name,
      content: { extents: [], size: 0, contentType: contentTypeOf(name) },
    };
    if (begun.name !== name) throw fileError("invalid_file_name", "The pieces of one write name two files.");
    unfinished.set(write, begun);
    await append(begun.content, data);
    checkLimits();
    if (more) return { size: begun.content.size };
    unfinished.delete(write);
    const before = mode === "append" ? contents.get(name) : undefined;
    if (before === undefined) checkRoom(contents, name);
    const content = before === undefined ? begun.content : join(before, begun.content);
    contents.set(name, content);
    written.add(name);
    checkLimits();
    return { size: content.size };
  }

  async function readContent({ extents }: Content, offset: number, length: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    let from = offset;
    let left = length;
    for (const extent of extents) {
      if (left <= 0) break;
      if (from >= extent.length) {
        from -= extent.length;
        continue;
      }
      const count = Math.min(left, extent.length - from);
      pieces.push(await readExtent(extent, from, count));
      left -= count;
      from = 0;
    }
    return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
  }

  async function readExtent({ read, at }: Extent, offset: number, length: number): Promise<Uint8Array> {
    if (read !== "spool") return read(at + offset, length);
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await (await (spool as Promise<FileHandle>)).read(bytes, 0, length, at + offset);
    if (bytesRead !== length)
      throw new Error("the temporary file of a workspace is shorter than what was written");
    return bytes;
  }

  function toStored(name: string, content: Content): StoredFile {
    const { size, contentType } = content;
    return { name, size, contentType, read: (offset, length) => readContent(content, offset, length) };
  }

  async function* readAll(content: Content): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < content.size; at += READ_BYTES) yield readContent(content, at, READ_BYTES);
  }

  return {
    async read(name, offset, length) {
      // What was asked to be written before is in it, however long the disk takes.
      const content = await queue(() => find(contents, name));
      return readContent(content, offset, length);
    },
    write: (request) => queue(() => write(request)),
    remove: (name) =>
      queue(() => {
        find(contents, name);
        contents.delete(name);
        written.delete(name);
      }),
    checkName,
    async save(name, bytes, turn) {
      lastSave -= 1;
      const piece = { name, mode: "replace", write: lastSave } as const;
      try {
        for await (const data of bytes) await queue(() => write({ ...piece, data, more: true }));
        for (let wait = turn?.(); wait; wait = turn?.()) await wait;
        return await queue(async () => {
          await write({ ...piece, data: new Uint8Array(), more: false });
          return toStored(name, contents.get(name) as Content);
        });
      } finally {
        unfinished.delete(piece.write);
      }
    },
    snapshot() {
      const taken = queue(() => new Map(contents));
      return {
        async open(name) {
          const content = find(await taken, name);
          const { size, contentType } = content;
          return { size, contentType, stream: () => readAll(content) };
        },
      };
    },
    artifacts: () => [...written].map((name) => toStored(name, contents.get(name) as Content)),
    async [Symbol.asyncDispose]() {
      isDisposed = true;
      contents.clear();
      written.clear();
      // What is being written may open the file.
      await changes;
      await (await spool?.catch(() => null))?.close();
    },
  };
}

/** The bytes of a file, in pieces. */
export async function* readWhole({ size, read }: Pick<StoredFile, "size" | "read">): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; ) {
    const bytes = await read(at, Math.min(READ_BYTES, size - at));
    if (bytes.length === 0) throw new Error("a file is shorter than it was said to be");
    at += bytes.length;
    yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}

function find(contents: ReadonlyMap<string, Content>, name: string): Content {
  const content = contents.get(name);
  if (content === undefined)
    throw fileError("file_not_found", `There is no file ${quote(name)} in the workspace.`);
  return content;
}

/** A name cannot be a file and a folder: no archive and no folder on a disk could hold both. */
function checkRoom(contents: ReadonlyMap<string, Content>, name: string): void {
  if (contents.has(name)) return;
  for (const other of contents.keys()) {
    if (other.startsWith(`${name}/`) || name.startsWith(`${other}/`)) {
      const [folder, file] = other.length > name.length ? [name, other] : [other, name];
      throw fileError(
        "invalid_file_name",
        `${quote(folder)} cannot be a file and the folder of ${quote(file)} at once.`,
      );
    }
  }
}

function join(before: Content, added: Content): Content {
  const extents = before.extents.map((extent) => ({ ...extent }));
  for (const extent of added.extents) {
    const last = extents.at(-1);
    if (last?.read === "spool" && extent.read === "spool" && last.at + last.length === extent.at) {
      last.length += extent.length;
    } else extents.push({ ...extent });
  }
  return { extents, size: before.size + added.size, contentType: added.contentType };
}

/** A temporary file without a name: nothing is left of it when this process ends, in whatever way. */
async function openSpool(): Promise<FileHandle> {
  const file = path.join(tmpdir(), `cyrnel-workspace-${randomUUID()}`);
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

function noop(): void {}

function fileError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

function quote(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}
