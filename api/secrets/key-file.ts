/**
 * Creates and reads the key of a server without CYRNEL_SECRETS_KEY, in a file of mode 0600 in the data folder. An
 * operator who loses the folder loses all secrets.
 */
import { createSecretKey, type KeyObject, randomBytes, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { link, mkdir, open, rm } from "node:fs/promises";
import path from "node:path";
import { KEY_BYTES, parseKeyMaterial } from "#api/config/key-material.ts";

const FILE_NAME = "secrets.key";
const MAX_FILE_BYTES = 1024;
const OTHERS = 0o077;

export interface FileKey {
  key: KeyObject;
  path: string;
  isNew: boolean;
}

export async function readKeyFile(directory: string): Promise<FileKey | null> {
  const file = path.join(directory, FILE_NAME);
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    if (code === "ELOOP") throw new Error(`${file} is a symbolic link. Put the file itself there.`);
    throw error;
  }
  try {
    const { mode, size } = await handle.stat();
    if (process.platform !== "win32" && (mode & OTHERS) !== 0) {
      throw new Error(
        `${file} can be read or written by other users (mode ${(mode & 0o777).toString(8)}). Run: chmod 600 ${file}`,
      );
    }
    const text = size > MAX_FILE_BYTES ? "" : await handle.readFile("utf8");
    const parsed = parseKeyMaterial(text);
    if (!parsed.ok) {
      throw new Error(
        `${file} does not contain a valid key: ${parsed.problem}. Restore it from a backup; without it the stored secrets are lost. ` +
          "To start over, remove the file and set every secret again.",
      );
    }
    return { key: parsed.key, path: file, isNew: false };
  } finally {
    await handle.close();
  }
}

export async function ensureKeyFile(directory: string): Promise<FileKey> {
  const existing = await readKeyFile(directory);
  if (existing) return existing;
  await mkdir(directory, { recursive: true, mode: 0o711 });
  const file = path.join(directory, FILE_NAME);
  // Write the file completely or not at all: a truncated key looks valid.
  const draft = path.join(directory, `.${FILE_NAME}.${randomUUID()}`);
  const bytes = randomBytes(KEY_BYTES);
  try {
    const handle = await open(draft, "wx", 0o600);
    try {
      await handle.writeFile(`${bytes.toString("base64")}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(draft, file);
    return { key: createSecretKey(bytes), path: file, isNew: true };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
  const other = await readKeyFile(directory);
  if (other) return other;
  throw new Error(`${file} was removed while it was being created. Start again.`);
}
