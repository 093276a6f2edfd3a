/**
 * Transpiled scripts, kept in the user's cache folder: one that is run again needs no compiler. A fixed number of files, each
 * overwritten by the next script that falls to it, so nothing ever has to be cleared away. What is kept names its whole source and
 * the build that made it: a file that is anything else, cut off or of another user counts as not being there.
 */
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import type { PreparedSource } from "#runner/source/prepare.ts";

type Kept = Extract<PreparedSource, { ok: true }>;

export interface KeptScripts {
  /** Null if there is none, for whatever reason. */
  read(source: string): Kept | null;
  /** Does nothing where it cannot be kept. */
  keep(source: string, prepared: PreparedSource): void;
}

const FILES = 64;
/** In UTF-16 units, of what is kept of one script. */
const MAX_CHARS = 256 * 1024;
/** Escaped, and in UTF-8. */
const MAX_FILE_BYTES = 8 * MAX_CHARS;
const OTHERS_MAY_WRITE = 0o022;

/** `build` names whatever turns sources into what is kept. Null as `folder`: nothing is kept. */
export function openKeptScripts(folder: string | null, build: string): KeptScripts {
  return {
    read(source) {
      if (folder === null || source.length > MAX_CHARS) return null;
      try {
        const kept = JSON.parse(readOwnFile(nameFile(folder, source))) as Record<string, unknown>;
        const { code, mappings } = kept;
        if (kept.build !== build || kept.source !== source) return null;
        if (typeof code !== "string" || typeof mappings !== "string") return null;
        return { ok: true, code, mappings };
      } catch {
        return null;
      }
    },
    keep(source, prepared) {
      if (folder === null || !prepared.ok) return;
      const { code, mappings } = prepared;
      if (source.length + code.length + mappings.length > MAX_CHARS) return;
      const path = nameFile(folder, source);
      const made = `${path}.${process.pid}`;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(made, JSON.stringify({ build, source, code, mappings }), { mode: 0o600, flag: "wx" });
        renameSync(made, path);
      } catch {
        removeIfThere(made);
      }
    },
  };
}

/**
 * `cyrnel/scripts` in the cache folder of the XDG Base Directory Specification, which ignores a relative one; null without a home.
 */
export function findScriptFolder(env: { XDG_CACHE_HOME?: string; HOME?: string }): string | null {
  const { XDG_CACHE_HOME: cache, HOME: home } = env;
  if (cache?.startsWith("/")) return `${cache}/cyrnel/scripts`;
  return home?.startsWith("/") ? `${home}/.cache/cyrnel/scripts` : null;
}

/** FNV-1a: spreads, no more. Two scripts with one name only drive each other out. */
function nameFile(folder: string, source: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < source.length; index++) {
    hash = Math.imul(hash ^ source.charCodeAt(index), 0x01000193);
  }
  return `${folder}/${(hash >>> 0) % FILES}.json`;
}

/** @throws for a file that is not of this user alone, or too large. */
function readOwnFile(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { uid, mode, size } = fstatSync(file);
    if (uid !== process.geteuid?.() || (mode & OTHERS_MAY_WRITE) !== 0 || size > MAX_FILE_BYTES) {
      throw new Error("not a file of this user alone");
    }
    const bytes = Buffer.allocUnsafe(size);
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, size, 0));
  } finally {
    closeSync(file);
  }
}

function removeIfThere(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Its folder cannot be written to.
  }
}
