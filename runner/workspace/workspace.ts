/**
 * One run's files on the host: input files are read where they are stored, written ones go to a spool. A name chosen
 * by a script is only a map key here and is never opened.
 */

import { contentTypeOf, createFolders } from "#kernel/file-names.ts";
import type { CallFiles, FileWrite, SaveTurn, WorkspaceFile } from "#sdk";
import {
  type Content,
  type Contents,
  createContents,
  emptyContent,
  extentsOf,
  givenContent,
  type ReadAt,
} from "./contents.ts";
import { fileError, quote, requireFileName } from "./file-errors.ts";
import { type Spool, type Spools, SYSTEM_SPOOLS, type WorkspaceLimit, WorkspaceLimitError } from "./spool.ts";

export interface StoredFile extends WorkspaceFile {
  read: ReadAt;
}

export interface WorkspaceOptions {
  files: readonly StoredFile[];
  /** Limits the written bytes that have not been replaced since. */
  maxBytes: number;
  maxFiles: number;
  spools?: Spools;
  owner?: string;
}

const READ_BYTES = 256 * 1024;
/** A run that replaces files may write this many times its limit in total. */
const MAX_REWRITES = 8;

interface File extends Content {
  readonly contentType: string;
}

export class Workspace implements AsyncDisposable {
  readonly #maxBytes: number;
  readonly #maxFiles: number;
  readonly #spool: Spool;
  readonly #contents: Contents;
  readonly #folders = createFolders();
  /** Copied before a change if a snapshot shares it. */
  #named = new Map<string, File>();
  #isShared = false;
  readonly #written = new Set<string>();
  #keptBytes = 0;
  /** Writes whose last chunk has not arrived. */
  readonly #unfinished = new Map<number, { name: string; content: Content }>();
  #unfinishedBytes = 0;
  #writtenBytes = 0;
  /** Resolves when all queued changes have been made, one after another. */
  #changes: Promise<unknown> = Promise.resolve();
  /** The host's own writes have negative numbers, those of scripts positive ones. */
  #lastSave = 0;
  #isDisposed = false;
  #exceeded: WorkspaceLimit | null = null;

  constructor({ files, maxBytes, maxFiles, spools = SYSTEM_SPOOLS, owner }: WorkspaceOptions) {
    this.#maxBytes = maxBytes;
    this.#maxFiles = maxFiles;
    this.#spool = spools.open(owner);
    this.#contents = createContents(this.#spool);
    for (const { name, size, contentType, read } of files) {
      this.#named.set(name, { ...givenContent(read, size), contentType });
      this.#folders.add(name);
    }
  }

  get exceeded(): WorkspaceLimit | null {
    return this.#exceeded;
  }

  /** Returns fewer bytes than `length` only at the end of the file. Rejects with code `file_not_found`. */
  async read(name: string, offset: number, length: number): Promise<Uint8Array> {
    // Queued, so that it includes every write requested before, however slow the disk is.
    const file = await this.#queue(() => this.#find(name));
    return this.#readRange(file, offset, length);
  }

  /** Returns the file's size after the write. Rejects with code `invalid_file_name`, or with a WorkspaceLimitError. */
  write(request: FileWrite): Promise<{ size: number }> {
    return this.#queue(() => this.#write(request));
  }

  /** Copies or, with `moves`, renames a file, replacing the target. Rejects like `read` and `write`. */
  copy({ name, to, moves }: { name: string; to: string; moves: boolean }): Promise<{ size: number }> {
    return this.#queue(() => {
      const file = this.#find(name);
      if (name === to) return { size: file.size };
      if (moves) {
        this.checkName(to);
        this.#drop(name);
      }
      return this.#put(to, file);
    });
  }

  /** Fills added bytes with zeros. Rejects like `read` and `write`. */
  resize({ name, size }: { name: string; size: number }): Promise<{ size: number }> {
    return this.#queue(async () => {
      const file = this.#find(name);
      if (size > this.#maxBytes) throw this.#tooLarge(name, size);
      return this.#put(name, await this.#contents.resize(file, size));
    });
  }

  /** Rejects with code `file_not_found`. */
  remove(name: string): Promise<void> {
    return this.#queue(() => this.#drop(name));
  }

  /** Throws with code `invalid_file_name` if no file with this name could be written now. */
  checkName(name: string): void {
    requireFileName(name);
    if (this.#named.has(name)) return;
    const below = this.#folders.findBelow(name);
    const folder = below === undefined ? this.#folders.findFileAbove(name, this.#named) : name;
    if (folder === undefined) return;
    const both = `${quote(folder)} cannot be a file and the folder of ${quote(below ?? name)} at once.`;
    throw fileError("invalid_file_name", both);
  }

  /**
   * Writes all of these bytes as a file, or changes nothing. Returns the written content, which stays the same when
   * the name is written again. `turn` decides its place among reads and writes. Rejects like `write`, or if `bytes`
   * throws.
   */
  async save(name: string, bytes: AsyncIterable<Uint8Array>, turn?: SaveTurn): Promise<StoredFile> {
    this.#lastSave -= 1;
    const piece = { name, mode: "replace", write: this.#lastSave } as const;
    try {
      for await (const data of bytes) await this.#queue(() => this.#write({ ...piece, data, more: true }));
      for (let wait = turn?.(); wait; wait = turn?.()) await wait;
      return await this.#queue(async () => {
        await this.#write({ ...piece, data: new Uint8Array(), more: false });
        return this.#toStored(name, this.#find(name));
      });
    } finally {
      this.#forget(piece.write);
    }
  }

  /** Returns the files after the writes requested so far. Later writes do not show. */
  snapshot(): CallFiles {
    const taken = this.#queue(() => {
      this.#isShared = true;
      return this.#named;
    });
    return {
      open: async (name) => {
        const file = this.#find(name, await taken);
        return { size: file.size, contentType: file.contentType, stream: () => this.#readAll(file) };
      },
    };
  }

  /** Returns the complete written files in order of first writing, readable until the workspace is disposed. */
  artifacts(): StoredFile[] {
    return [...this.#written].map((name) => this.#toStored(name, this.#find(name)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#named = new Map();
    this.#written.clear();
    // A write in progress may still open the spool's file.
    await this.#changes;
    await this.#spool.close();
  }

  #queue<T>(change: () => T | Promise<T>): Promise<T> {
    const done = this.#changes.then(() => {
      if (this.#isDisposed) throw new Error("The run of this workspace has ended.");
      return change();
    });
    this.#changes = done.then(
      () => {},
      (error) => {
        if (error instanceof WorkspaceLimitError) this.#exceeded ??= error.limit;
      },
    );
    return done;
  }

  #find(name: string, files: ReadonlyMap<string, File> = this.#named): File {
    const file = files.get(name);
    if (file !== undefined) return file;
    throw fileError("file_not_found", `There is no file ${quote(name)} in the workspace.`);
  }

  #beforeChange(): void {
    if (this.#isShared) this.#named = new Map(this.#named);
    this.#isShared = false;
  }

  #put(name: string, { extents, size }: Content): { size: number } {
    this.checkName(name);
    const replaced = this.#written.has(name) ? this.#find(name).size : null;
    this.#checkLimits(size - (replaced ?? 0), replaced === null ? 1 : 0);
    this.#beforeChange();
    if (!this.#named.has(name)) this.#folders.add(name);
    this.#named.set(name, { extents, size, contentType: contentTypeOf(name) });
    this.#written.add(name);
    this.#keptBytes += size - (replaced ?? 0);
    return { size };
  }

  #drop(name: string): void {
    const { size } = this.#find(name);
    this.#beforeChange();
    this.#named.delete(name);
    this.#folders.delete(name);
    if (this.#written.delete(name)) this.#keptBytes -= size;
  }

  /** Counts the run's stored bytes and files, unfinished writes, and what is about to be added. */
  #checkLimits(addedBytes = 0, addedFiles = 0): void {
    const bytes = this.#keptBytes + this.#unfinishedBytes + addedBytes;
    const count = this.#written.size + this.#unfinished.size + addedFiles;
    if (bytes <= this.#maxBytes && count <= this.#maxFiles) return;
    throw new WorkspaceLimitError(
      "artifacts",
      `The run wrote ${count} files of ${bytes} bytes together; at most ${this.#maxFiles} files and ${this.#maxBytes} bytes are kept.`,
    );
  }

  #forget(write: number): void {
    this.#unfinishedBytes -= this.#unfinished.get(write)?.content.size ?? 0;
    this.#unfinished.delete(write);
  }

  async #write({ name, data, mode, at = 0, more, write }: FileWrite): Promise<{ size: number }> {
    requireFileName(name);
    const begun = this.#unfinished.get(write);
    if (begun !== undefined && begun.name !== name) {
      throw fileError("invalid_file_name", "The pieces of one write name two files.");
    }
    if (mode === "discard") {
      this.#forget(write);
      return { size: this.#named.get(name)?.size ?? 0 };
    }
    this.#countWritten(data.length);
    const content = await this.#contents.append(begun?.content ?? emptyContent(), data);
    this.#forget(write);
    if (more) {
      this.#unfinished.set(write, { name, content });
      this.#unfinishedBytes += content.size;
      this.#checkLimits();
      return { size: content.size };
    }
    const before = this.#named.get(name);
    if (before === undefined) this.checkName(name);
    if (mode === "replace") return this.#put(name, content);
    if (mode === "append") {
      return this.#put(name, await this.#contents.attach(before ?? emptyContent(), extentsOf(content)));
    }
    if (at + content.size > this.#maxBytes) throw this.#tooLarge(name, at + content.size);
    return this.#put(name, await this.#contents.patch(before ?? emptyContent(), content, at));
  }

  #countWritten(bytes: number): void {
    this.#writtenBytes += bytes;
    const most = this.#maxBytes * MAX_REWRITES;
    if (this.#writtenBytes <= most) return;
    const message = `The run wrote more than ${most} bytes to files, counting what it replaced.`;
    throw new WorkspaceLimitError("artifacts", message);
  }

  #tooLarge(name: string, size: number): WorkspaceLimitError {
    const found = `The run made the file ${quote(name)} ${size} bytes long`;
    return new WorkspaceLimitError("artifacts", `${found}; at most ${this.#maxBytes} are kept.`);
  }

  #toStored(name: string, { contentType, ...content }: File): StoredFile {
    const read: ReadAt = (offset, length) => this.#readRange(content, offset, length);
    return { name, size: content.size, contentType, read };
  }

  #readRange(content: Content, offset: number, length: number): Promise<Uint8Array> {
    return this.#contents.read(extentsOf(content, offset, offset + length));
  }

  async *#readAll(content: Content): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < content.size; at += READ_BYTES) yield this.#readRange(content, at, READ_BYTES);
  }
}

export async function* readWhole({ size, read }: Pick<StoredFile, "size" | "read">): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; ) {
    const bytes = await read(at, Math.min(READ_BYTES, size - at));
    if (bytes.length === 0) throw new Error("A file is shorter than its recorded size.");
    at += bytes.length;
    yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}
