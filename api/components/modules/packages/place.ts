/**
 * Installs, replaces and deletes module folders. A change is prepared under a name that begins with a dot, then
 * renamed. Each step is one rename, and the leftovers of an interrupted change show the next start how to undo it.
 */
import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { LOADED_PREFIX } from "../loader/code.ts";

/** Prefix of the folder set aside by an update. While it exists, the update is unfinished. */
const PREVIOUS_PREFIX = ".previous-";
const STAGED_PREFIX = ".staged-";
const TRASH_PREFIX = ".trash-";
const RUBBISH_PREFIXES = [STAGED_PREFIX, TRASH_PREFIX, LOADED_PREFIX];

export interface ModulePlace {
  readonly directory: string;
  recover(): Promise<string[]>;
  stage(): Promise<StagedFolder>;
  /** Removes a folder in one step; `restore` brings it back, `discard` deletes it for good. */
  takeAway(folder: string): Promise<{ restore(): Promise<void>; discard(): Promise<void> }>;
}

export interface StagedFolder extends AsyncDisposable {
  readonly path: string;
  /**
   * Moves `subfolder` (empty for the entire package) to its final name. Throws with code EEXIST if the name is taken.
   */
  putInPlace(subfolder: string, folder: string): Promise<void>;
  /** Replaces an existing folder, which is kept until the swap is committed or undone. */
  swapIn(subfolder: string, folder: string): Promise<FolderSwap>;
}

export interface FolderSwap {
  undo(): Promise<void>;
  commit(): Promise<void>;
}

export function createModulePlace(directory: string): ModulePlace {
  const at = (name: string) => path.join(directory, name);
  const inTrash = () => at(`${TRASH_PREFIX}${randomUUID()}`);

  async function discard(target: string): Promise<void> {
    await rm(target, { recursive: true, force: true }).catch(() => {});
  }

  /** Rename first: a half-deleted folder must never exist under its usual name. */
  async function clear(folder: string): Promise<void> {
    const trash = inTrash();
    if (await isThere(at(folder))) await rename(at(folder), trash);
    await discard(trash);
  }

  async function putInPlace(source: string, folder: string): Promise<void> {
    if (await isThere(at(folder))) {
      throw Object.assign(new Error(`The folder ${folder} already exists.`), { code: "EEXIST" });
    }
    await rename(source, at(folder));
  }

  async function swapIn(source: string, folder: string): Promise<FolderSwap> {
    const aside = at(PREVIOUS_PREFIX + folder);
    // A missing module has no folder to keep, so undoing the swap deletes the new one.
    const hadFolder = await isThere(at(folder));
    if (hadFolder) await rename(at(folder), aside);
    const undo = async () => {
      await clear(folder);
      if (hadFolder) await rename(aside, at(folder));
    };
    try {
      await rename(source, at(folder));
    } catch (error) {
      await undo();
      throw error;
    }
    return {
      undo,
      async commit() {
        if (!hadFolder) return;
        const trash = inTrash();
        await rename(aside, trash);
        await discard(trash);
      },
    };
  }

  return {
    directory,
    async recover() {
      const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return [];
        throw error;
      });
      const restored: string[] = [];
      for (const name of names) {
        if (name.startsWith(PREVIOUS_PREFIX)) {
          const folder = name.slice(PREVIOUS_PREFIX.length);
          await clear(folder);
          await rename(at(name), at(folder));
          restored.push(folder);
        } else if (RUBBISH_PREFIXES.some((prefix) => name.startsWith(prefix))) await discard(at(name));
      }
      return restored;
    },
    async stage() {
      const staged = at(`${STAGED_PREFIX}${randomUUID()}`);
      await mkdir(directory, { recursive: true });
      await mkdir(staged, { mode: 0o755 });
      return {
        path: staged,
        putInPlace: (subfolder, folder) => putInPlace(path.join(staged, subfolder), folder),
        swapIn: (subfolder, folder) => swapIn(path.join(staged, subfolder), folder),
        [Symbol.asyncDispose]: () => discard(staged),
      };
    },
    async takeAway(folder) {
      const trash = inTrash();
      const wasThere = await isThere(at(folder));
      if (wasThere) await rename(at(folder), trash);
      return {
        restore: async () => {
          if (wasThere) await rename(trash, at(folder));
        },
        discard: () => discard(trash),
      };
    },
  };
}

function isThere(target: string): Promise<boolean> {
  return lstat(target).then(
    () => true,
    () => false,
  );
}
