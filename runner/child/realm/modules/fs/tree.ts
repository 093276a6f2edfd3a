/**
 * A run's files as a tree, with Node's paths and errors. Folders are prefixes of file names; empty folders exist only
 * here. `/` is the workspace root and the working directory.
 */
import type { FileAccess } from "../../host/file-access.ts";

export type PathLike = string | Uint8Array | URL;

const ERRNO = {
  EPERM: [-1, "operation not permitted"],
  ENOENT: [-2, "no such file or directory"],
  EBADF: [-9, "bad file descriptor"],
  EEXIST: [-17, "file already exists"],
  ENOTDIR: [-20, "not a directory"],
  EISDIR: [-21, "illegal operation on a directory"],
  EINVAL: [-22, "invalid argument"],
  ENOTEMPTY: [-39, "directory not empty"],
} as const;
export type Code = keyof typeof ERRNO;

export function fsError(code: Code, syscall: string, path?: string, dest?: string): Error {
  const [errno, text] = ERRNO[code];
  const places = `${path === undefined ? "" : ` '${path}'`}${dest === undefined ? "" : ` -> '${dest}'`}`;
  const error = new Error(`${code}: ${text}, ${syscall}${places}`);
  return Object.assign(error, {
    errno,
    code,
    syscall,
    ...(path !== undefined && { path }),
    ...(dest !== undefined && { dest }),
  });
}

/** Returns the path as the script wrote it, for errors. */
export function pathText(path: PathLike): string {
  if (typeof path === "string") return path;
  if (path instanceof URL) {
    if (path.protocol !== "file:") throw invalidType("path", "a string, a Buffer or a file: URL", path);
    return decodeURIComponent(path.pathname);
  }
  if (ArrayBuffer.isView(path)) return new TextDecoder().decode(path);
  throw invalidType("path", "a string, a Buffer or a file: URL", path);
}

export function invalidType(name: string, expected: string, found: unknown): TypeError {
  const shown = found === null ? "null" : typeof found;
  return Object.assign(new TypeError(`The "${name}" argument must be ${expected}; found ${shown}.`), {
    code: "ERR_INVALID_ARG_TYPE",
  });
}

/**
 * Returns the name in the workspace, empty for its root. As in any file system, the parent of the root is the root.
 */
export function nameOf(path: PathLike): string {
  const text = pathText(path);
  if (text === "") return "\u0000";
  if (text.includes("\u0000"))
    throw Object.assign(new TypeError("A path must not have null bytes."), { code: "ERR_INVALID_ARG_VALUE" });
  const segments: string[] = [];
  for (const segment of text.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  return segments.join("/").normalize("NFC");
}

export const parentOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf("/")));
export const lastOf = (name: string): string => name.slice(name.lastIndexOf("/") + 1);

export class Stats {
  readonly size: number;
  readonly #isFolder: boolean;
  readonly dev = 0;
  readonly ino = 0;
  readonly nlink = 1;
  readonly uid = 0;
  readonly gid = 0;
  readonly rdev = 0;
  readonly blksize = 4096;
  readonly blocks: number;
  readonly mode: number;
  // The workspace stores no times.
  readonly atimeMs = 0;
  readonly mtimeMs = 0;
  readonly ctimeMs = 0;
  readonly birthtimeMs = 0;
  readonly atime = new Date(0);
  readonly mtime = new Date(0);
  readonly ctime = new Date(0);
  readonly birthtime = new Date(0);

  constructor(size: number, isFolder: boolean) {
    this.size = size;
    this.#isFolder = isFolder;
    this.blocks = Math.ceil(size / 512);
    this.mode = isFolder ? 0o40755 : 0o100644;
  }

  isFile(): boolean {
    return !this.#isFolder;
  }
  isDirectory(): boolean {
    return this.#isFolder;
  }
  isSymbolicLink(): boolean {
    return false;
  }
  isFIFO(): boolean {
    return false;
  }
  isSocket(): boolean {
    return false;
  }
  isBlockDevice(): boolean {
    return false;
  }
  isCharacterDevice(): boolean {
    return false;
  }
}

export class Dirent {
  readonly name: string;
  readonly parentPath: string;
  readonly path: string;
  readonly #isFolder: boolean;

  constructor(name: string, parentPath: string, isFolder: boolean) {
    this.name = name;
    this.parentPath = parentPath;
    this.path = parentPath;
    this.#isFolder = isFolder;
  }

  isFile(): boolean {
    return !this.#isFolder;
  }
  isDirectory(): boolean {
    return this.#isFolder;
  }
  isSymbolicLink(): boolean {
    return false;
  }
}

export interface Tree {
  access: FileAccess;
  isFile(name: string): boolean;
  isFolder(name: string): boolean;
  stat(name: string, syscall: string, path: string): Stats;
  /** Throws ENOENT or EISDIR unless the path is a file. */
  requireFile(name: string, syscall: string, path: string): void;
  /** Throws ENOENT, ENOTDIR or EISDIR unless a file can be written under this name. */
  requirePlace(name: string, syscall: string, path: string): void;
  /** Lists names and kinds directly below a folder or, if `recursive`, everything below it. */
  list(folder: string, recursive: boolean): { name: string; isFolder: boolean }[];
  addFolder(name: string): void;
  removeFolder(name: string): void;
}

export function createTree(access: FileAccess): Tree {
  const made = new Set<string>();
  const isFile = (name: string) => access.stat(name) !== undefined;
  const isFolder = (name: string) => name === "" || made.has(name) || access.isFolder(name);
  const keepFolder = (name: string) => {
    for (let folder = name; folder !== ""; folder = parentOf(folder)) made.add(folder);
  };

  return {
    access,
    isFile,
    isFolder,
    stat(name, syscall, path) {
      const found = access.stat(name);
      if (found !== undefined && !path.endsWith("/")) return new Stats(found.size, false);
      if (found !== undefined) throw fsError("ENOTDIR", syscall, path);
      if (!isFolder(name)) throw fsError("ENOENT", syscall, path);
      return new Stats(0, true);
    },
    requireFile(name, syscall, path) {
      if (isFile(name)) return;
      throw fsError(isFolder(name) ? "EISDIR" : "ENOENT", syscall, path);
    },
    requirePlace(name, syscall, path) {
      if (isFolder(name)) throw fsError("EISDIR", syscall, path);
      const parent = parentOf(name);
      for (let folder = parent; folder !== ""; folder = parentOf(folder)) {
        if (isFile(folder)) throw fsError("ENOTDIR", syscall, path);
      }
      if (!isFolder(parent)) throw fsError("ENOENT", syscall, path);
    },
    list(folder, recursive) {
      const start = folder === "" ? "" : `${folder}/`;
      const found = new Map<string, boolean>();
      const add = (whole: string, isFolder: boolean) => {
        if (!whole.startsWith(start) || whole === folder) return;
        const segments = whole.slice(start.length).split("/");
        const depth = recursive ? segments.length : 1;
        for (let count = 1; count <= depth; count++) {
          const name = segments.slice(0, count).join("/");
          found.set(name, count < segments.length || isFolder || found.get(name) === true);
        }
      };
      for (const { name } of access.list()) add(name, false);
      for (const name of made) add(name, true);
      return [...found]
        .map(([name, isFolder]) => ({ name, isFolder }))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    addFolder: keepFolder,
    removeFolder(name) {
      // A folder remains when its last file is removed.
      keepFolder(parentOf(name));
      for (const folder of made) if (folder === name || folder.startsWith(`${name}/`)) made.delete(folder);
    },
  };
}
