/** Copies and renames of `node:fs`. The host performs them, so no content comes here. */
import type { Recursive } from "./folders.ts";
import type { Operation } from "./steps.ts";
import { fsError, nameOf, type PathLike, parentOf, pathText, type Tree } from "./tree.ts";

export function createCopying(tree: Tree) {
  function* copyFile(from: PathLike, to: PathLike, mode = 0): Operation<void> {
    const [source, target, text] = [nameOf(from), nameOf(to), pathText(from)];
    tree.requireFile(source, "copyfile", text);
    if ((mode & 1) === 1 && tree.isFile(target)) throw fsError("EEXIST", "copyfile", text, pathText(to));
    tree.requirePlace(target, "copyfile", pathText(to));
    yield { do: "copy", name: source, to: target };
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

  function* moveFile(from: string, to: string): Operation<void> {
    tree.addFolder(parentOf(from));
    yield { do: "move", name: from, to };
  }

  function* rename(from: PathLike, to: PathLike): Operation<void> {
    const [source, target, text] = [nameOf(from), nameOf(to), pathText(from)];
    if (source === target) return;
    if (tree.isFile(source)) {
      tree.requirePlace(target, "rename", pathText(to));
      return yield* moveFile(source, target);
    }
    if (!tree.isFolder(source)) throw fsError("ENOENT", "rename", text, pathText(to));
    if (`${target}/`.startsWith(`${source}/`)) throw fsError("EINVAL", "rename", text, pathText(to));
    if (tree.isFile(target)) throw fsError("ENOTDIR", "rename", text, pathText(to));
    if (tree.isFolder(target) && tree.list(target, false).length > 0)
      throw fsError("ENOTEMPTY", "rename", text, pathText(to));
    if (!tree.isFolder(parentOf(target))) throw fsError("ENOENT", "rename", text, pathText(to));
    tree.addFolder(target);
    for (const { name, isFolder } of tree.list(source, true)) {
      if (isFolder) tree.addFolder(`${target}/${name}`);
      else yield* moveFile(`${source}/${name}`, `${target}/${name}`);
    }
    tree.removeFolder(source);
  }

  return { copyFile, cp, rename };
}
