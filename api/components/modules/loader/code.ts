/**
 * Loads a custom module's code. Node loads a file once per process, so each load uses a new copy of the folder: Node
 * sees changed files as new ones, and a running module keeps the files it started with.
 */
import { randomUUID } from "node:crypto";
import { access, constants, realpath, rm } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { waitAtMost } from "#api/bounds/deadline.ts";
import type { ModuleEntry, ModuleManifest } from "#sdk";
import { readEntry } from "../registration.ts";
import { FOLDER_LIMITS, readFolder } from "./files.ts";

/** Copies are at the same folder depth as the originals, so that relative links and package imports still resolve. */
export const LOADED_PREFIX = ".loaded-";

export interface CodeSource {
  directory: string;
  folder: string;
  manifest: ModuleManifest;
  filesHash: string;
  /** Time limit for the import. It cannot stop code that blocks the thread: modules have the host's permissions. */
  maxImportMs: number;
}

const loadedInPlace = new Set<string>();

/** Returns the real path of `main` in the folder. Throws Error if the file is missing or outside the folder. */
export async function resolveMain(folder: string, main: string): Promise<string> {
  const root = await realpath(folder);
  const wanted = path.resolve(root, main);
  if (path.isAbsolute(main) || !isBelow(root, wanted)) {
    throw new Error(`Its main (${main}) leads out of its folder.`);
  }
  const real = await realpath(wanted).catch(() => null);
  if (real === null) throw new Error(`Its main (${main}) does not exist.`);
  if (!isBelow(root, real)) throw new Error(`Its main (${main}) leads out of its folder through a link.`);
  return path.relative(root, real);
}

function isBelow(root: string, file: string): boolean {
  return file.startsWith(root + path.sep);
}

/**
 * Copies the folder, imports the copy and returns the module's entry. The copy remains until the next start, for
 * later imports.
 */
export async function openCode(source: CodeSource): Promise<ModuleEntry> {
  const main = await resolveMain(path.join(source.directory, source.folder), source.manifest.main);
  const folder = await copyFolder(source);
  try {
    const imported = import(pathToFileURL(path.join(folder, main)).href);
    return readEntry(await waitAtMost(imported, source.maxImportMs, `The import of ${source.manifest.main}`));
  } catch (error) {
    if (folder !== path.join(source.directory, source.folder)) await removeFolder(folder);
    throw error;
  }
}

async function copyFolder({ directory, folder, filesHash }: CodeSource): Promise<string> {
  const original = path.join(directory, folder);
  if (!(await isWritable(directory))) {
    if (loadedInPlace.has(original)) {
      throw new Error(
        `${directory} cannot be written to, so changed files can only be loaded by a restart of the server.`,
      );
    }
    loadedInPlace.add(original);
    return original;
  }
  const copy = path.join(directory, `${LOADED_PREFIX}${randomUUID()}`);
  try {
    const hash = await readFolder(original, FOLDER_LIMITS, copy);
    if (hash !== filesHash) {
      throw new Error("Its files have changed since they were read. POST /modules/reload reads them again.");
    }
    return copy;
  } catch (error) {
    await removeFolder(copy);
    throw error;
  }
}

async function isWritable(directory: string): Promise<boolean> {
  return access(directory, constants.W_OK).then(
    () => true,
    () => false,
  );
}

function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true }).catch(() => {});
}
