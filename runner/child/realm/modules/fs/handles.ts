// biome-ignore-all lint/correctness/useYield: every operation is a generator, even if it reads no contents.
/** Open files of `node:fs`: descriptors, the FileHandle of promises, and streams. */
import {
  type Data,
  decode,
  encodingOf,
  type Flags,
  isPieces,
  type Options,
  readFlags,
  toBytes,
} from "./arguments.ts";
import type { Operations } from "./operations.ts";
import { type Operation, runAsync } from "./steps.ts";
import { fsError, type PathLike, pathText, type Stats, type Tree } from "./tree.ts";

/** Loaded when the first stream is created: most scripts that import fs create none. */
const loadStreams = () => (require("../stream.ts") as typeof import("../stream.ts")).stream;
type Readable = InstanceType<ReturnType<typeof loadStreams>["Readable"]>;
type Writable = InstanceType<ReturnType<typeof loadStreams>["Writable"]>;

export interface OpenFile {
  name: string;
  flags: Flags;
  position: number;
}

const FIRST_DESCRIPTOR = 3;
const PIECE_BYTES = 64 * 1024;

interface Range {
  offset?: number;
  length?: number;
  position?: number | null;
}
interface StreamOptions {
  encoding?: string;
  flags?: string | number;
  start?: number;
  end?: number;
  highWaterMark?: number;
}

export function createHandles(tree: Tree, operations: Operations) {
  const opened = new Map<number, OpenFile>();
  let next = FIRST_DESCRIPTOR;

  function find(fd: unknown, syscall: string): OpenFile {
    const file = opened.get(fd as number);
    if (file === undefined) throw fsError("EBADF", syscall);
    return file;
  }

  function* open(path: PathLike, flags?: string | number | null): Operation<number> {
    const name = yield* operations.open(path, flags);
    opened.set(next, { name, flags: readFlags(flags), position: 0 });
    return next++;
  }

  /** Returns the number of bytes written to `target`. */
  function* read(
    fd: number,
    target: ArrayBufferView,
    { offset = 0, length, position = null }: Range = {},
  ): Operation<number> {
    const file = find(fd, "read");
    if (!file.flags.reads) throw fsError("EBADF", "read");
    const view = new Uint8Array(target.buffer, target.byteOffset, target.byteLength).subarray(
      offset,
      length === undefined ? undefined : offset + length,
    );
    tree.requireFile(file.name, "read", file.name);
    const at = position === null || position === -1 ? file.position : Number(position);
    const bytes = (yield { do: "read", name: file.name, offset: at, length: view.length }) as Uint8Array;
    view.set(bytes);
    if (position === null || position === -1) file.position += bytes.length;
    return bytes.length;
  }

  function* write(
    fd: number,
    data: unknown,
    { offset = 0, length, position = null }: Range = {},
    encoding?: string,
  ): Operation<number> {
    const file = find(fd, "write");
    if (!file.flags.writes) throw fsError("EBADF", "write");
    const content = toBytes(data, encoding ?? null);
    const all = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const bytes = all.subarray(offset, length === undefined ? undefined : offset + length);
    const at = file.flags.appends ? null : (position ?? file.position);
    yield* operations.writeAt(file.name, bytes, at);
    if (position === null) file.position += bytes.length;
    return bytes.length;
  }

  function close(fd: number): void {
    find(fd, "close");
    opened.delete(fd);
  }

  function stat(fd: number): Stats {
    const { name } = find(fd, "fstat");
    return tree.stat(name, "fstat", name);
  }

  const promised = <T>(operation: Operation<T>) => runAsync(tree.access, operation);

  class FileHandle {
    readonly fd: number;

    constructor(fd: number) {
      this.fd = fd;
    }

    #path(syscall: string): string {
      return `/${find(this.fd, syscall).name}`;
    }

    async read(target?: ArrayBufferView | (Range & { buffer?: ArrayBufferView }), ...rest: unknown[]) {
      const options = ArrayBuffer.isView(target) ? { ...toRange(rest), buffer: target } : { ...target };
      const buffer = options.buffer ?? decode(new Uint8Array(16_384), null);
      return { bytesRead: await promised(read(this.fd, buffer as ArrayBufferView, options)), buffer };
    }

    async write(data: unknown, ...rest: unknown[]) {
      const [range, encoding] =
        typeof data === "string"
          ? [{ position: (rest[0] as number) ?? null }, rest[1] as string]
          : [toRange(rest)];
      return { bytesWritten: await promised(write(this.fd, data, range, encoding)), buffer: data };
    }

    async readFile(options?: Options) {
      const file = find(this.fd, "read");
      const { size } = tree.access.find(file.name);
      const bytes = await tree.access.read(file.name, file.position, size);
      file.position += bytes.length;
      return decode(bytes, encodingOf(options));
    }

    async writeFile(data: Data, options?: Options) {
      const encoding = encodingOf(options) ?? undefined;
      for await (const piece of isPieces(data) ? data : [data])
        await promised(write(this.fd, piece, {}, encoding));
    }

    appendFile(data: Data, options?: Options) {
      return this.writeFile(data, options);
    }

    async stat() {
      return stat(this.fd);
    }

    async truncate(length?: number) {
      await promised(operations.truncate(this.#path("ftruncate"), length));
    }

    async sync() {}
    async datasync() {}
    async chmod() {}
    async utimes() {}

    createReadStream(options?: StreamOptions) {
      return createReadStream(this.#path("read"), options);
    }

    createWriteStream(options?: StreamOptions) {
      return createWriteStream(this.#path("write"), { flags: "r+", ...options });
    }

    readLines(options?: StreamOptions) {
      return readLines(createReadStream(this.#path("read"), options));
    }

    async close() {
      close(this.fd);
    }

    [Symbol.asyncDispose]() {
      return this.close();
    }
  }

  function createReadStream(path: PathLike, options: StreamOptions | string = {}) {
    const {
      start = 0,
      end = Number.MAX_SAFE_INTEGER,
      highWaterMark = PIECE_BYTES,
      encoding,
    } = typeof options === "string" ? { encoding: options } : options;
    let name = "";
    let at = start;
    const stream = new (loadStreams().Readable)({
      highWaterMark,
      ...(encoding !== undefined && { encoding: encoding as BufferEncoding }),
      construct(done) {
        promised(operations.open(path, "r")).then((found) => {
          name = found;
          done();
          stream.emit("open", FIRST_DESCRIPTOR);
          stream.emit("ready");
        }, done);
      },
      read(size) {
        const length = Math.min(size, end - at + 1);
        if (length <= 0) return void stream.push(null);
        tree.access.read(name, at, length).then(
          (bytes) => {
            at += bytes.length;
            stream.bytesRead += bytes.length;
            stream.push(bytes.length === 0 ? null : decode(bytes, null));
          },
          (error) => stream.destroy(error),
        );
      },
    }) as Readable & { bytesRead: number; path: string };
    return Object.assign(stream, { bytesRead: 0, path: pathText(path) });
  }

  function createWriteStream(path: PathLike, options: StreamOptions | string = {}) {
    const { flags = "w", start, encoding } = typeof options === "string" ? { encoding: options } : options;
    const { appends } = readFlags(flags);
    let name = "";
    let at = start ?? 0;
    const stream = new (loadStreams().Writable)({
      defaultEncoding: (encoding ?? "utf8") as BufferEncoding,
      construct(done) {
        promised(operations.open(path, flags)).then((found) => {
          name = found;
          done();
          stream.emit("open", FIRST_DESCRIPTOR);
          stream.emit("ready");
        }, done);
      },
      write(chunk: Uint8Array, _encoding, done) {
        promised(operations.writeAt(name, chunk, appends ? null : at)).then(() => {
          at += chunk.length;
          stream.bytesWritten += chunk.length;
          done();
        }, done);
      },
    }) as Writable & { bytesWritten: number; path: string };
    return Object.assign(stream, { bytesWritten: 0, path: pathText(path) });
  }

  return { open, read, write, close, stat, find, createReadStream, createWriteStream, FileHandle };
}

export function toRange(args: readonly unknown[]): Range {
  const [first, length, position] = args;
  if (typeof first === "object" && first !== null) return first as Range;
  return {
    ...(typeof first === "number" && { offset: first }),
    ...(typeof length === "number" && { length }),
    position:
      typeof position === "number" ? position : typeof position === "bigint" ? Number(position) : null,
  };
}

async function* readLines(stream: AsyncIterable<unknown>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (
      rest + (typeof chunk === "string" ? chunk : decoder.decode(chunk as Uint8Array, { stream: true }))
    ).split(/\r?\n/);
    rest = lines.pop() as string;
    yield* lines;
  }
  if (rest !== "") yield rest;
}
