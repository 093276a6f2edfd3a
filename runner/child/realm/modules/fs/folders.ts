// biome-ignore-all lint/correctness/useYield: every operation is a generator, even if it reads no contents.
import type { Operation } from "./steps.ts";
import { Dirent, fsError, lastOf, nameOf, type PathLike, parentOf, pathText, type Tree } from "./tree.ts";

export interface Recursive {
  recursive?: boolean;
  force?: boolean;
}

export function createFolderOperations(tree: Tree) {
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

  return {
    mkdir,
    *mkdtemp(prefix: string): Operation<string> {
      const name = `${prefix}${globalThis.crypto.randomUUID().slice(0, 6)}`;
      yield* mkdir(name, { recursive: true });
      return name;
    },
    readdir,
    rmdir,
    rm,
    *unlink(path: PathLike): Operation<void> {
      const [name, text] = [nameOf(path), pathText(path)];
      tree.requireFile(name, "unlink", text);
      yield* removeFile(name);
    },
  };
}
