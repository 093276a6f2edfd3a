// biome-ignore-all lint/correctness/useYield: each operation is a generator, whether it asks for contents or not.
/**
 * What `node:fs` does, each operation written once: a generator that asks for contents and is run either at once (the
 * synchronous functions) or waiting (callbacks and promises).
 */
import type { FileAccess } from "../../host/files.ts";
import {
  Dirent,
  fsError,
  invalidType,
  lastOf,
  nameOf,
  type PathLike,
  parentOf,
  pathText,
  type Stats,
  type Tree,
} from "./tree.ts";

const { Buffer } = (require("../buffer.ts") as typeof import("../buffer.ts")).buffer;

type Step =
  | { do: "read"; name: string; offset: number; length: number }
  | { do: "write"; name: string; data: string | Uint8Array; mode: "replace" | "append" }
  | { do: "remove"; name: string };
// biome-ignore lint/suspicious/noExplicitAny: what a step answers is known where it is made.
export type Operation<T> = Generator<Step, T, any>;

export function runSync<T>(access: FileAccess, operation: Operation<T>): T {
  let turn = operation.next();
  while (!turn.done) {
    const step = turn.value;
    let answer: unknown;
    if (step.do === "read") answer = access.readSync(step.name, step.offset, step.length);
    else if (step.do === "write") access.writeSync(step.name, step.data, step.mode);
    else access.removeSync(step.name);
    turn = operation.next(answer);
  }
  return turn.value;
}

export async function runAsync<T>(access: FileAccess, operation: Operation<T>): Promise<T> {
  let turn = operation.next();
  while (!turn.done) {
    const step = turn.value;
    let answer: unknown;
    if (step.do === "read") answer = await access.read(step.name, step.offset, step.length);
    else if (step.do === "write") await access.write(step.name, step.data, step.mode);
    else await access.remove(step.name);
    turn = operation.next(answer);
  }
  return turn.value;
}

export type Options = { encoding?: string | null; flag?: string } | string | null | undefined;
export type Data = string | ArrayBuffer | ArrayBufferView;

export function encodingOf(options: Options): string | null {
  const encoding = typeof options === "string" ? options : (options?.encoding ?? null);
  if (encoding !== null && encoding !== "buffer" && !Buffer.isEncoding(encoding)) {
    throw Object.assign(new TypeError(`The encoding '${encoding}' is not known.`), {
      code: "ERR_INVALID_ARG_VALUE",
    });
  }
  return encoding === "buffer" ? null : encoding;
}

export function toBytes(data: unknown, encoding: string | null = null): string | Uint8Array {
  if (typeof data === "string")
    return encoding === null || /^utf-?8$/i.test(encoding)
      ? data.toWellFormed()
      : Buffer.from(data, encoding as BufferEncoding);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw invalidType("data", "a string, a Buffer or another view of bytes", data);
}

export function decode(bytes: Uint8Array, encoding: string | null): string | Uint8Array {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return encoding === null ? buffer : buffer.toString(encoding as BufferEncoding);
}

/** What a text like "w+" or "ax" allows. */
export function readFlags(flags: string | number = "r") {
  const text = String(flags).replace("s", "");
  if (!/^(?:r\+?|[wa]x?\+?|[wa]\+x?)$/.test(text)) {
    throw Object.assign(
      new TypeError(`The flags '${flags}' are not known: use r, r+, w, w+, a, a+, wx or ax.`),
      { code: "ERR_INVALID_ARG_VALUE" },
    );
  }
  const isPlus = text.includes("+");
  return {
    reads: text.startsWith("r") || isPlus,
    writes: !text.startsWith("r") || isPlus,
    appends: text.startsWith("a"),
    truncates: text.startsWith("w"),
    isNew: text.includes("x"),
    mustExist: text.startsWith("r"),
  };
}

interface Recursive {
  recursive?: boolean;
  force?: boolean;
}

export function createOperations(tree: Tree) {
  const { access } = tree;

  /** Checks a file for `flags` and makes or empties it where they say so. */
  function* open(path: PathLike, flags: string | number = "r", syscall = "open"): Operation<string> {
    const [name, text] = [nameOf(path), pathText(path)];
    const { isNew, mustExist, truncates, writes } = readFlags(flags);
    const exists = tree.isFile(name);
    if (mustExist && !exists) tree.requireFile(name, syscall, text);
    if (isNew && (exists || tree.isFolder(name))) throw fsError("EEXIST", syscall, text);
    if (writes && !exists) tree.requirePlace(name, syscall, text);
    if (writes && (truncates || !exists)) yield { do: "write", name, data: "", mode: "replace" };
    return name;
  }

  function* readFile(path: PathLike, options?: Options): Operation<string | Uint8Array> {
    const encoding = encodingOf(options);
    const [name, text] = [nameOf(path), pathText(path)];
    if (tree.isFolder(name) && !tree.isFile(name)) throw fsError("EISDIR", "read");
    tree.requireFile(name, "open", text);
    const { size } = access.find(name);
    return decode(yield { do: "read", name, offset: 0, length: size }, encoding);
  }

  function* write(path: PathLike, data: Data, options: Options, standard: string): Operation<void> {
    const content = toBytes(data, encodingOf(options));
    const [name, text] = [nameOf(path), pathText(path)];
    const { isNew, appends, mustExist } = readFlags(
      (typeof options === "object" && options?.flag) || standard,
    );
    if (isNew && tree.isFile(name)) throw fsError("EEXIST", "open", text);
    if (mustExist) tree.requireFile(name, "open", text);
    tree.requirePlace(name, "open", text);
    yield { do: "write", name, data: content, mode: appends ? "append" : "replace" };
  }

  function* mkdir(path: PathLike, options?: Recursive | number): Operation<string | undefined> {
    const [name, text] = [nameOf(path), pathText(path)];
    const isRecursive = typeof options === "object" && options?.recursive === true;
    if (tree.isFile(name)) throw fsError("EEXIST", "mkdir", text);
    if (tree.isFolder(name)) {
      if (isRecursive) return undefined;
      throw fsError("EEXIST", "mkdir", text);
    }
    let first = name;
    for (let folder = parentOf(name); folder !== ""; folder = parentOf(folder)) {
      if (tree.isFile(folder)) throw fsError("ENOTDIR", "mkdir", text);
      if (!tree.isFolder(folder)) first = folder;
    }
    if (first !== name && !isRecursive) throw fsError("ENOENT", "mkdir", text);
    tree.addFolder(name);
    return isRecursive ? `/${first}` : undefined;
  }

  function* readdir(
    path: PathLike,
    options?: Recursive & { withFileTypes?: boolean },
  ): Operation<(string | Dirent)[]> {
    const [name, text] = [nameOf(path), pathText(path)];
    if (tree.isFile(name)) throw fsError("ENOTDIR", "scandir", text);
    if (!tree.isFolder(name)) throw fsError("ENOENT", "scandir", text);
    const found = tree.list(name, options?.recursive === true);
    if (options?.withFileTypes !== true) return found.map((entry) => entry.name);
    const base = text.replace(/(?<=.)\/+$/, "");
    return found.map((entry) => {
      const parent = parentOf(entry.name);
      return new Dirent(
        lastOf(entry.name),
        parent === "" ? base : `${base === "/" ? "" : base}/${parent}`,
        entry.isFolder,
      );
    });
  }

  function* unlink(path: PathLike): Operation<void> {
    const [name, text] = [nameOf(path), pathText(path)];
    tree.requireFile(name, "unlink", text);
    yield* removeFile(name);
  }

  function* removeFile(name: string): Operation<void> {
    tree.addFolder(parentOf(name));
    yield { do: "remove", name };
  }

  function* rmdir(path: PathLike, options?: Recursive): Operation<void> {
    if (options?.recursive) return yield* rm(path, options);
    const [name, text] = [nameOf(path), pathText(path)];
    if (tree.isFile(name)) throw fsError("ENOTDIR", "rmdir", text);
    if (!tree.isFolder(name)) throw fsError("ENOENT", "rmdir", text);
    if (name === "") throw fsError("EPERM", "rmdir", text);
    if (tree.list(name, false).length > 0) throw fsError("ENOTEMPTY", "rmdir", text);
    tree.removeFolder(name);
  }

  function* rm(path: PathLike, options: Recursive = {}): Operation<void> {
    const [name, text] = [nameOf(path), pathText(path)];
    if (tree.isFile(name)) return yield* removeFile(name);
    if (!tree.isFolder(name)) {
      if (options.force) return;
      throw fsError("ENOENT", "rm", text);
    }
    if (!options.recursive) {
      const message = `Path is a directory: rm returned EISDIR (is a directory) ${text}`;
      throw Object.assign(new Error(message), {
        code: "ERR_FS_EISDIR",
        errno: 21,
        syscall: "rm",
        path: text,
      });
    }
    for (const { name: below, isFolder } of tree.list(name, true)) {
      if (!isFolder) yield { do: "remove", name: name === "" ? below : `${name}/${below}` };
    }
    if (name === "") for (const { name: below } of tree.list("", false)) tree.removeFolder(below);
    else tree.removeFolder(name);
  }

  function* copyOne(from: string, to: string): Operation<void> {
    const { size } = access.find(from);
    yield {
      do: "write",
      name: to,
      data: yield { do: "read", name: from, offset: 0, length: size },
      mode: "replace",
    };
  }

  function* copyFile(from: PathLike, to: PathLike, mode = 0): Operation<void> {
    const [source, target, text] = [nameOf(from), nameOf(to), pathText(from)];
    tree.requireFile(source, "copyfile", text);
    if ((mode & 1) === 1 && tree.isFile(target)) throw fsError("EEXIST", "copyfile", text, pathText(to));
    tree.requirePlace(target, "copyfile", pathText(to));
    if (source !== target) yield* copyOne(source, target);
  }

  function* cp(
    from: PathLike,
    to: PathLike,
    options: Recursive & { errorOnExist?: boolean } = {},
  ): Operation<void> {
    const [source, target] = [nameOf(from), nameOf(to)];
    if (tree.isFile(source)) {
      tree.addFolder(parentOf(target));
      if (options.force === false && tree.isFile(target)) {
        if (options.errorOnExist) throw fsError("EEXIST", "cp", pathText(to));
        return;
      }
      return yield* copyFile(from, to);
    }
    if (!tree.isFolder(source)) throw fsError("ENOENT", "cp", pathText(from));
    if (!options.recursive) throw fsError("EISDIR", "cp", pathText(from));
    if (`${target}/`.startsWith(`${source}/`) || source === "")
      throw fsError("EINVAL", "cp", pathText(from), pathText(to));
    tree.addFolder(target);
    for (const { name, isFolder } of tree.list(source, true)) {
      if (isFolder) tree.addFolder(`${target}/${name}`);
      else yield* cp(`/${source}/${name}`, `/${target}/${name}`, options);
    }
  }

  function* rename(from: PathLike, to: PathLike): Operation<void> {
    const [source, target, text] = [nameOf(from), nameOf(to), pathText(from)];
    if (source === target) return;
    if (tree.isFile(source)) {
      tree.requirePlace(target, "rename", pathText(to));
      yield* copyOne(source, target);
      return yield* removeFile(source);
    }
    if (!tree.isFolder(source)) throw fsError("ENOENT", "rename", text, pathText(to));
    if (`${target}/`.startsWith(`${source}/`)) throw fsError("EINVAL", "rename", text, pathText(to));
    if (tree.isFile(target)) throw fsError("ENOTDIR", "rename", text, pathText(to));
    if (tree.isFolder(target) && tree.list(target, false).length > 0)
      throw fsError("ENOTEMPTY", "rename", text, pathText(to));
    if (!tree.isFolder(parentOf(target))) throw fsError("ENOENT", "rename", text, pathText(to));
    yield* cp(`/${source}`, `/${target}`, { recursive: true });
    yield* rm(`/${source}`, { recursive: true });
  }

  function* truncate(path: PathLike, length = 0): Operation<void> {
    const name = nameOf(path);
    tree.requireFile(name, "open", pathText(path));
    const bytes = new Uint8Array(length);
    bytes.set((yield { do: "read", name, offset: 0, length }) as Uint8Array);
    yield { do: "write", name, data: bytes, mode: "replace" };
  }

  /** Bytes at a position of a file; a gap before them is filled with zeros. */
  function* writeAt(name: string, bytes: Uint8Array, position: number | null): Operation<number> {
    const size = access.stat(name)?.size ?? 0;
    if (position === null || position === size) yield { do: "write", name, data: bytes, mode: "append" };
    else {
      const whole = new Uint8Array(Math.max(size, position + bytes.length));
      whole.set((yield { do: "read", name, offset: 0, length: size }) as Uint8Array);
      whole.set(bytes, position);
      yield { do: "write", name, data: whole, mode: "replace" };
    }
    return bytes.length;
  }

  function* stat(
    path: PathLike,
    options?: { throwIfNoEntry?: boolean },
    syscall = "stat",
  ): Operation<Stats | undefined> {
    const name = nameOf(path);
    if (options?.throwIfNoEntry === false && !tree.isFile(name) && !tree.isFolder(name)) return undefined;
    return tree.stat(name, syscall, pathText(path));
  }

  return {
    open,
    readFile,
    writeFile: (path: PathLike, data: Data, options?: Options) => write(path, data, options, "w"),
    appendFile: (path: PathLike, data: Data, options?: Options) => write(path, data, options, "a"),
    mkdir,
    *mkdtemp(prefix: string): Operation<string> {
      const name = `${prefix}${globalThis.crypto.randomUUID().slice(0, 6)}`;
      yield* mkdir(name, { recursive: true });
      return name;
    },
    readdir,
    unlink,
    rmdir,
    rm,
    copyFile,
    cp,
    rename,
    truncate,
    writeAt,
    stat,
    lstat: (path: PathLike, options?: { throwIfNoEntry?: boolean }) => stat(path, options, "lstat"),
    *access(path: PathLike): Operation<void> {
      tree.stat(nameOf(path), "access", pathText(path));
    },
    *realpath(path: PathLike): Operation<string> {
      tree.stat(nameOf(path), "realpath", pathText(path));
      return `/${nameOf(path)}`;
    },
    // Nothing here has owners, rights or times: what sets them finds the file and changes nothing.
    *touch(path: PathLike): Operation<void> {
      tree.stat(nameOf(path), "utime", pathText(path));
    },
  };
}
export type Operations = ReturnType<typeof createOperations>;
