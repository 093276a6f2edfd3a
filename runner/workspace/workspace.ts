/**
 * The files of one run on the host: what it was given, read where it lies, and what it writes, kept in a spool. No name that a
 * script chose is ever opened: it is a key of a map here, and nothing else.
 */

import { checkFileName, contentTypeOf, createFolders } from "#kernel/file-names.ts";
import type { CallFiles, FileWrite, SaveTurn, WorkspaceFile } from "#sdk";
import {
  type Content,
  createContents,
  emptyContent,
  extentsOf,
  givenContent,
  type ReadAt,
} from "./contents.ts";
import { type Spools, SYSTEM_SPOOLS, type WorkspaceLimit, WorkspaceLimitError } from "./spool.ts";

/** A file as it lies somewhere. */
export interface StoredFile extends WorkspaceFile {
  read: ReadAt;
}

export interface Workspace extends AsyncDisposable {
  /** Fewer bytes than `length` at the end, of the file as earlier calls leave it. Rejects with code `file_not_found`. */
  read(name: string, offset: number, length: number): Promise<Uint8Array>;
  /** The file's size, as the next read finds it. Rejects with code `invalid_file_name`, or with a WorkspaceLimitError. */
  write(request: FileWrite): Promise<{ size: number }>;
  /** Under another name too, or with `moves` instead; what was under that is replaced. Rejects as `read` and `write`. */
  copy(request: { name: string; to: string; moves: boolean }): Promise<{ size: number }>;
  /** What is added are zeros. Rejects as `read` and `write`. */
  resize(request: { name: string; size: number }): Promise<{ size: number }>;
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
  /** What the first change was refused for that went beyond a limit; null: none did. */
  readonly exceeded: WorkspaceLimit | null;
}

export interface WorkspaceOptions {
  /** What the run finds. */
  files: readonly StoredFile[];
  /** Of all that was written and not replaced since. */
  maxBytes: number;
  maxFiles: number;
  spools?: Spools;
  /** Whose share of the spools' room it takes. */
  owner?: string;
}

/** Of what is read in one go for a call. */
const READ_BYTES = 256 * 1024;
/** How much more than it may keep a run may write, replacing what it wrote before. */
const MAX_REWRITES = 8;

interface File extends Content {
  readonly contentType: string;
}

export function createWorkspace({
  files,
  maxBytes,
  maxFiles,
  spools = SYSTEM_SPOOLS,
  owner,
}: WorkspaceOptions): Workspace {
  const spool = spools.open(owner);
  const contents = createContents(spool);
  /** Replaced before a change where a snapshot has it. */
  let named = new Map<string, File>();
  let isShared = false;
  const folders = createFolders();
  for (const { name, size, contentType, read } of files) {
    named.set(name, { ...givenContent(read, size), contentType });
    folders.add(name);
  }
  const written = new Set<string>();
  let keptBytes = 0;
  /** Writes whose last piece is still to come. */
  const unfinished = new Map<number, { name: string; content: Content }>();
  let unfinishedBytes = 0;
  let writtenBytes = 0;
  /** Resolves when the changes so far are made: they are made one after another. */
  let changes: Promise<unknown> = Promise.resolve();
  /** Numbers of the host's own writes: those of scripts are positive. */
  let lastSave = 0;
  let isDisposed = false;
  let exceeded: WorkspaceLimit | null = null;

  /** Does `change` once those before are done. */
  function queue<T>(change: () => T | Promise<T>): Promise<T> {
    const done = changes.then(() => {
      if (isDisposed) throw new Error("The run of this workspace has ended.");
      return change();
    });
    changes = done.then(noop, (error) => {
      if (error instanceof WorkspaceLimitError) exceeded ??= error.limit;
    });
    return done;
  }

  function checkName(name: string): void {
    const wrong = checkFileName(name);
    if (wrong !== null) throw fileError("invalid_file_name", `The file name ${quote(name)} ${wrong}.`);
    if (named.has(name)) return;
    const below = folders.findBelow(name);
    const folder = below === undefined ? folders.findFileAbove(name, named) : name;
    if (folder === undefined) return;
    throw fileError(
      "invalid_file_name",
      `${quote(folder)} cannot be a file and the folder of ${quote(below ?? name)} at once.`,
    );
  }

  function find(name: string, files: ReadonlyMap<string, File> = named): File {
    const file = files.get(name);
    if (file !== undefined) return file;
    throw fileError("file_not_found", `There is no file ${quote(name)} in the workspace.`);
  }

  function beforeChange(): void {
    if (isShared) named = new Map(named);
    isShared = false;
  }

  /** Gives a content its name, as something that the run wrote. */
  function put(name: string, { extents, size }: Content): { size: number } {
    checkName(name);
    const replaced = written.has(name) ? find(name).size : null;
    checkLimits(size - (replaced ?? 0), replaced === null ? 1 : 0);
    beforeChange();
    if (!named.has(name)) folders.add(name);
    named.set(name, { extents, size, contentType: contentTypeOf(name) });
    written.add(name);
    keptBytes += size - (replaced ?? 0);
    return { size };
  }

  function drop(name: string): void {
    const { size } = find(name);
    beforeChange();
    named.delete(name);
    folders.delete(name);
    if (written.delete(name)) keptBytes -= size;
  }

  /** Everything a run keeps, what of it is still being written, and what is about to be added. */
  function checkLimits(addedBytes = 0, addedFiles = 0): void {
    const bytes = keptBytes + unfinishedBytes + addedBytes;
    const count = written.size + unfinished.size + addedFiles;
    if (bytes > maxBytes || count > maxFiles) {
      throw new WorkspaceLimitError(
        "artifacts",
        `The run wrote ${count} files of ${bytes} bytes together; at most ${maxFiles} files and ${maxBytes} bytes are kept.`,
      );
    }
  }

  function forget(write: number): void {
    unfinishedBytes -= unfinished.get(write)?.content.size ?? 0;
    unfinished.delete(write);
  }

  async function write({ name, data, mode, at = 0, more, write }: FileWrite): Promise<{ size: number }> {
    const wrong = checkFileName(name);
    if (wrong !== null) throw fileError("invalid_file_name", `The file name ${quote(name)} ${wrong}.`);
    const begun = unfinished.get(write);
    if (begun !== undefined && begun.name !== name) {
      throw fileError("invalid_file_name", "The pieces of one write name two files.");
    }
    if (mode === "discard") {
      forget(write);
      return { size: named.get(name)?.size ?? 0 };
    }
    writtenBytes += data.length;
    if (writtenBytes > maxBytes * MAX_REWRITES) {
      throw new WorkspaceLimitError(
        "artifacts",
        `The run wrote more than ${maxBytes * MAX_REWRITES} bytes to files, counting what it replaced.`,
      );
    }
    const content = await contents.append(begun?.content ?? emptyContent(), data);
    forget(write);
    if (more) {
      unfinished.set(write, { name, content });
      unfinishedBytes += content.size;
      checkLimits();
      return { size: content.size };
    }
    const before = named.get(name);
    if (before === undefined) checkName(name);
    if (mode === "replace") return put(name, content);
    if (mode === "append")
      return put(name, await contents.attach(before ?? emptyContent(), extentsOf(content)));
    if (at + content.size > maxBytes) throw tooLarge(name, at + content.size);
    return put(name, await contents.patch(before ?? emptyContent(), content, at));
  }

  function tooLarge(name: string, size: number): WorkspaceLimitError {
    return new WorkspaceLimitError(
      "artifacts",
      `The run made the file ${quote(name)} ${size} bytes long; at most ${maxBytes} are kept.`,
    );
  }

  function toStored(name: string, { contentType, ...content }: File): StoredFile {
    const read: ReadAt = (offset, length) => readRange(content, offset, length);
    return { name, size: content.size, contentType, read };
  }

  function readRange(content: Content, offset: number, length: number): Promise<Uint8Array> {
    return contents.read(extentsOf(content, offset, offset + length));
  }

  async function* readAll(content: Content): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < content.size; at += READ_BYTES) yield readRange(content, at, READ_BYTES);
  }

  return {
    async read(name, offset, length) {
      // What was asked to be written before is in it, however long the disk takes.
      const file = await queue(() => find(name));
      return readRange(file, offset, length);
    },
    write: (request) => queue(() => write(request)),
    copy: ({ name, to, moves }) =>
      queue(() => {
        const file = find(name);
        if (name === to) return { size: file.size };
        if (moves) {
          checkName(to);
          drop(name);
        }
        return put(to, file);
      }),
    resize: ({ name, size }) =>
      queue(async () => {
        const file = find(name);
        if (size > maxBytes) throw tooLarge(name, size);
        return put(name, await contents.resize(file, size));
      }),
    remove: (name) => queue(() => drop(name)),
    checkName,
    async save(name, bytes, turn) {
      lastSave -= 1;
      const piece = { name, mode: "replace", write: lastSave } as const;
      try {
        for await (const data of bytes) await queue(() => write({ ...piece, data, more: true }));
        for (let wait = turn?.(); wait; wait = turn?.()) await wait;
        return await queue(async () => {
          await write({ ...piece, data: new Uint8Array(), more: false });
          return toStored(name, find(name));
        });
      } finally {
        forget(piece.write);
      }
    },
    snapshot() {
      const taken = queue(() => {
        isShared = true;
        return named;
      });
      return {
        async open(name) {
          const file = find(name, await taken);
          return { size: file.size, contentType: file.contentType, stream: () => readAll(file) };
        },
      };
    },
    artifacts: () => [...written].map((name) => toStored(name, find(name))),
    get exceeded() {
      return exceeded;
    },
    async [Symbol.asyncDispose]() {
      isDisposed = true;
      named = new Map();
      written.clear();
      // What is being written may open the file.
      await changes;
      await spool.close();
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

function noop(): void {}

function fileError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

function quote(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}
