/**
 * Finds custom modules: every folder with a `module.json`. Runs none of their code. Problems are reported on the
 * registration, or on the folder if the id is unknown or taken.
 */
import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { readFailure } from "#api/bounds/failure-text.ts";
import type { ModuleEntry, ModuleManifest, ModuleType } from "#sdk";
import { readPackageNote } from "../packages/note.ts";
import { type ModuleRegistration, type ModuleRegistry, refuseToOpen } from "../registration.ts";
import { openCode, resolveMain } from "./code.ts";
import { readFolder } from "./files.ts";
import { isModuleId, readManifest } from "./manifest.ts";

export const MAX_MODULE_FOLDERS = 1000;
const NO_HASH = "0".repeat(64);

export interface ScanOptions {
  directory: string;
  builtinIds: ReadonlySet<string>;
  /**
   * Modules from the previous scan: unchanged files are not loaded again, and a module with a broken manifest keeps
   * its id.
   */
  previous: ModuleRegistry;
  maxImportMs: number;
}

export interface FolderProblem {
  folder: string;
  error: string;
}

export interface Scan {
  registrations: ModuleRegistration[];
  problems: FolderProblem[];
}

interface Found {
  folder: string;
  id: string | null;
  registration: ModuleRegistration;
}

export async function scanModules(options: ScanOptions): Promise<Scan> {
  const { builtinIds } = options;
  const folders = await listFolders(options.directory);
  const problems: FolderProblem[] = [];
  if (folders.length > MAX_MODULE_FOLDERS) {
    const error = `There are more than ${MAX_MODULE_FOLDERS} folders; this one and those after it are not read.`;
    problems.push({ folder: folders[MAX_MODULE_FOLDERS] ?? "", error });
  }
  const found: Found[] = [];
  for (const folder of folders.slice(0, MAX_MODULE_FOLDERS)) {
    const module = await readModuleFolder(folder, options);
    if (module !== null) found.push(module);
  }
  // If several folders have the same id, the folder named after the id wins, otherwise the first by name.
  found.sort((left, right) => rank(left) - rank(right));
  const claimed = new Map<string, ModuleRegistration>();
  const refused: Found[] = [];
  for (const module of found) {
    const { id } = module;
    if (id !== null && !builtinIds.has(id) && !claimed.has(id)) claimed.set(id, module.registration);
    else refused.push(module);
  }
  // Process invalid folders last, so that a folder's name never takes an id that another module's manifest declares.
  for (const { folder, id, registration } of refused) {
    const error =
      describeRefusal(id, claimed, builtinIds) ?? registration.loadError ?? "It has no usable id.";
    if (isModuleId(folder) && !builtinIds.has(folder) && !claimed.has(folder)) {
      claimed.set(folder, rejectAs(folder, folder, registration.manifest.type, error));
    } else problems.push({ folder, error });
  }
  return { registrations: [...claimed.values()], problems };
}

function rank({ folder, id, registration }: Found): number {
  if (!registration.isDescribed) return 2;
  return folder === id ? 0 : 1;
}

function describeRefusal(
  id: string | null,
  claimed: ReadonlyMap<string, ModuleRegistration>,
  builtinIds: ReadonlySet<string>,
): string | null {
  if (id === null) return null;
  if (builtinIds.has(id)) return `It says it is ${id}, which comes with the server. Choose another id.`;
  return `It says it is ${id}, which the folder ${claimed.get(id)?.folder} is already. Choose another id.`;
}

async function listFolders(directory: string): Promise<string[]> {
  let entries: Dirent[];
  try {
    entries = await readdir(directory, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  const candidates = entries.filter(
    (entry) => !entry.name.startsWith(".") && (entry.isDirectory() || entry.isSymbolicLink()),
  );
  const folders: string[] = [];
  for (const { name } of candidates) {
    const isFolder = await stat(path.join(directory, name)).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (isFolder) folders.push(name);
  }
  return folders.sort();
}

async function readModuleFolder(folder: string, options: ScanOptions): Promise<Found | null> {
  const absolute = path.join(options.directory, folder);
  const reading = await readManifest(absolute);
  if (reading === null) return null;
  if (!reading.ok) {
    const id = reading.id ?? findPrevious(options.previous, folder) ?? (isModuleId(folder) ? folder : null);
    return { folder, id, registration: rejectAs(id ?? folder, folder, reading.type, reading.error) };
  }
  const { manifest } = reading;
  try {
    return { folder, id: manifest.id, registration: await describeModule(folder, manifest, options) };
  } catch (error) {
    const registration = rejectAs(manifest.id, folder, manifest.type, readFailure(error));
    return { folder, id: manifest.id, registration: { ...registration, manifest, isDescribed: true } };
  }
}

function findPrevious(previous: ModuleRegistry, folder: string): string | null {
  for (const registration of previous.values()) {
    if (registration.folder === folder) return registration.manifest.id;
  }
  return null;
}

export async function describeModule(
  folder: string,
  manifest: ModuleManifest,
  options: Pick<ScanOptions, "directory" | "previous" | "maxImportMs">,
): Promise<ModuleRegistration> {
  const { directory, maxImportMs } = options;
  const absolute = path.join(directory, folder);
  await resolveMain(absolute, manifest.main);
  const filesHash = await readFolder(absolute);
  const note = await readPackageNote(absolute);
  const hash = note?.filesHash === filesHash ? note.hash : filesHash;
  const known = options.previous.get(manifest.id);
  if (known?.folder === folder && known.hash === hash && known.loadError === null) return known;
  const open = openOnce(() => openCode({ directory, folder, manifest, filesHash, maxImportMs }));
  const source = note?.source ?? "";
  return { manifest, isBuiltin: false, hash, source, folder, isDescribed: true, loadError: null, open };
}

function openOnce(load: () => Promise<ModuleEntry>): () => Promise<ModuleEntry> {
  let loading: Promise<ModuleEntry> | null = null;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = null;
      throw error;
    });
    return loading;
  };
}

function rejectAs(
  id: string,
  folder: string,
  type: ModuleType | null,
  loadError: string,
): ModuleRegistration {
  const manifest = { id, type: type ?? "adapter", name: id, description: "", main: "index.js" } as const;
  return {
    manifest,
    isBuiltin: false,
    hash: NO_HASH,
    source: "",
    folder,
    isDescribed: false,
    loadError,
    open: refuseToOpen(loadError),
  };
}
