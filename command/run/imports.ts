/**
 * Finds the files that a script imports, as a run resolves them in its workspace, to include them in the run. The
 * script may be untrusted: reads nothing outside the root, no hidden file, and nothing through a link that leads out.
 */
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import path from "node:path";
import { checkFileName } from "#kernel/file-names.ts";
import { decodeModule, NoTextError, type PrepareOptions, prepareSource } from "#runner/preparer/prepare.ts";
import { usageFailure } from "../failure.ts";
import type { FolderFile } from "./folder.ts";
import { findPlaces } from "./root.ts";

export interface Imports {
  /** Workspace name of the script, if it imports any files. */
  name?: string;
  /** Contents by workspace name. */
  files: Record<string, string>;
  paths: string[];
  /** An error in the script or an imported file, which would also fail the run. */
  error?: { name: string; message: string; line: number; column: number; file?: string };
}

/**
 * `script` is its path, or `-` for standard input in the current folder. `root` is the value of `--root`. `given`
 * contains the files from `--dir`.
 */
export async function readImports(
  code: string,
  script: string,
  root: string | undefined,
  given: Record<string, FolderFile>,
): Promise<Imports> {
  const { folder, base } = await findPlaces(script, root);
  const inside = path.relative(base, folder).split(path.sep).join("/");
  if (inside === ".." || inside.startsWith("../") || path.isAbsolute(inside)) {
    throw usageFailure(`The script must be inside --root: ${folder} is outside of ${base}.`);
  }
  const ownName = script === "-" ? "script.ts" : path.basename(script);
  const prefix = inside === "" ? "" : `${inside}/`;
  const texts = new Map<string, string>();
  const asked: string[] = [];
  let noText: string | null = null;
  await prepareSource(code, {
    name: prefix + ownName,
    findPackage: anyPackage,
    async readModule(name, maxBytes) {
      asked.push(name);
      const text = await readInside(base, prefix, name, maxBytes).catch((error) => {
        if (error instanceof NoTextError) noText = error.file;
        throw error;
      });
      if (text !== null) texts.set(name, text);
      return text ?? readGiven(given, withoutPrefix(name, prefix), maxBytes);
    },
  });
  // Names are relative to the script's folder, unless it imports from above it.
  const cut = asked.every((name) => name.startsWith(prefix)) ? prefix.length : 0;
  const files: Record<string, string> = Object.create(null);
  for (const [name, text] of texts) files[name.slice(cut)] = text;
  const name = (prefix + ownName).slice(cut);
  const prepared = await prepareSource(code, {
    name,
    findPackage: anyPackage,
    async readModule(file, maxBytes) {
      if (prefix.slice(0, cut) + file === noText) throw new NoTextError(file);
      return files[file] ?? readGiven(given, file, maxBytes);
    },
  });
  const paths = [...texts.keys()].map((file) => path.join(base, file));
  if (!prepared.ok) return { files, paths, error: prepared.error };
  for (const [file, text] of Object.entries(files)) {
    await checkAgainst(given, file, text, path.join(base, prefix.slice(0, cut), file));
  }
  return { ...(paths.length > 0 && { name }), files, paths };
}

/** The runtime reports missing packages. */
const anyPackage: PrepareOptions["findPackage"] = async ({ name }) => ({
  name,
  version: "0.0.0",
  digest: "",
});

function withoutPrefix(name: string, prefix: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/**
 * Returns null if there is no such file. Cuts a file beyond `maxBytes`, which is later rejected by its length. `own`
 * is the script's folder.
 */
async function readInside(root: string, own: string, name: string, maxBytes: number): Promise<string | null> {
  const meant = path.join(root, name);
  let found: string;
  try {
    found = await realpath(meant);
  } catch {
    return null;
  }
  const inside = path.relative(root, found);
  if (inside === ".." || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside)) {
    throw usageFailure(
      `${meant} is a link to ${found}, outside of ${root}. Scripts import only files of that folder. Use --root to name a folder that contains both.`,
    );
  }
  const names = [name, inside.split(path.sep).join("/")].map((one) => withoutPrefix(one, own));
  if (names.some((one) => /(?:^|\/)\./.test(one))) {
    throw usageFailure(`${meant} cannot be imported: it is hidden or in a hidden folder.`);
  }
  // O_NONBLOCK, because opening a pipe would wait for its writer.
  await using handle = await open(found, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if (!(await handle.stat()).isFile()) return null;
  const wrong = checkFileName(name);
  if (wrong !== null) throw usageFailure(`${meant} cannot be imported: the file name ${wrong}.`);
  const bytes = Buffer.alloc(maxBytes + 1);
  let size = 0;
  for (let read = -1; read !== 0 && size < bytes.length; size += read) {
    ({ bytesRead: read } = await handle.read(bytes, size, bytes.length - size));
  }
  return decodeModule(name, bytes.subarray(0, size), maxBytes);
}

async function readGiven(
  given: Record<string, FolderFile>,
  name: string,
  maxBytes: number,
): Promise<string | null> {
  const file = given[name];
  if (file === undefined) return null;
  return decodeModule(name, await file.read(0, Math.min(file.size, maxBytes + 1)), maxBytes);
}

/** Throws if a name has two different contents. */
async function checkAgainst(
  given: Record<string, FolderFile>,
  name: string,
  text: string,
  meant: string,
): Promise<void> {
  // A byte order mark is not part of the text.
  const same = await readGiven(given, name, Buffer.byteLength(text) + 3).catch(() => "");
  if (same === null || same === text) return;
  throw usageFailure(
    `${name} of --dir and ${meant}, which the script imports, have different contents under one name. Rename one of them.`,
  );
}
