// biome-ignore-all lint/correctness/useYield: every operation is a generator, even if it reads no contents.
/** Functions of `node:fs`, written once for their three forms. */
import {
  type Data,
  decode,
  encodingOf,
  isPieces,
  type Options,
  readFlags,
  toBytes,
  toPieces,
} from "./arguments.ts";
import { createCopying } from "./copying.ts";
import { createFolderOperations } from "./folders.ts";
import type { Operation } from "./steps.ts";
import { fsError, nameOf, type PathLike, pathText, type Stats, type Tree } from "./tree.ts";

export function createOperations(tree: Tree) {
  const { access } = tree;

  /** Opens a file, and creates or empties it if `flags` say so. */
  function* open(path: PathLike, flags?: string | number | null, syscall = "open"): Operation<string> {
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
    const encoding = encodingOf(options);
    const content = isPieces(data) ? toPieces(data, encoding) : toBytes(data, encoding);
    const [name, text] = [nameOf(path), pathText(path)];
    const { isNew, appends, mustExist } = readFlags(
      (typeof options === "object" && options?.flag) || standard,
    );
    if (isNew && tree.isFile(name)) throw fsError("EEXIST", "open", text);
    if (mustExist) tree.requireFile(name, "open", text);
    tree.requirePlace(name, "open", text);
    const mode = appends ? "append" : "replace";
    if (typeof content === "string" || content instanceof Uint8Array)
      yield { do: "write", name, data: content, mode };
    else yield { do: "write pieces", name, pieces: content, mode };
  }

  function* truncate(path: PathLike, length = 0): Operation<void> {
    const name = nameOf(path);
    tree.requireFile(name, "open", pathText(path));
    yield { do: "resize", name, size: Math.max(0, requireWhole("len", length)) };
  }

  /** Writes bytes at a position of a file, or at its end if `position` is null. Fills a gap with zeros. */
  function* writeAt(name: string, bytes: Uint8Array, position: number | null): Operation<number> {
    const size = access.stat(name)?.size ?? 0;
    const mode = position === null || position === size ? "append" : requireWhole("position", position, 0);
    yield { do: "write", name, data: bytes, mode };
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
    ...createFolderOperations(tree),
    ...createCopying(tree),
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
    // The workspace has no owners, modes or times. Functions that set them only check that the file exists.
    *touch(path: PathLike): Operation<void> {
      tree.stat(nameOf(path), "utime", pathText(path));
    },
  };
}
function requireWhole(name: string, value: unknown, min = Number.MIN_SAFE_INTEGER): number {
  if (Number.isSafeInteger(value) && (value as number) >= min) return value as number;
  const expected = min === 0 ? "a whole number that is not negative" : "a whole number";
  throw Object.assign(
    new RangeError(`The value of "${name}" is out of range: it must be ${expected}; found ${value}.`),
    {
      code: "ERR_OUT_OF_RANGE",
    },
  );
}

export type Operations = ReturnType<typeof createOperations>;
