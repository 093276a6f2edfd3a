/** Reads `module.json`, which is foreign text: limits its size and validates it against the contract's schema. */
import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { measureDepth } from "#kernel/json-depth.ts";
import { MODULE_ID_PATTERN, type ModuleManifest, type ModuleType, moduleManifestSchema } from "#sdk";

export const MANIFEST_FILE = "module.json";
export const MAX_MANIFEST_BYTES = 256 * 1024;
const MAX_MANIFEST_DEPTH = 100;
const MAX_ISSUES = 3;

export type ManifestReading =
  | { ok: true; manifest: ModuleManifest }
  | { ok: false; error: string; id: string | null; type: ModuleType | null };

/**
 * Returns null if the folder has no `module.json` and so is not a module. Invalid file contents never cause a
 * rejection.
 */
export async function readManifest(folder: string): Promise<ManifestReading | null> {
  const file = path.join(folder, MANIFEST_FILE);
  let text: string;
  try {
    const found = await stat(file);
    if (!found.isFile()) return unreadable(`Its ${MANIFEST_FILE} is not a file.`);
    if (found.size > MAX_MANIFEST_BYTES) {
      return unreadable(`Its ${MANIFEST_FILE} has ${found.size} bytes; the limit is ${MAX_MANIFEST_BYTES}.`);
    }
    text = await readFile(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    return unreadable(`Its ${MANIFEST_FILE} cannot be read (${code ?? "unknown reason"}).`);
  }
  return parseManifest(text);
}

export function parseManifest(text: string): ManifestReading {
  if (measureDepth(Buffer.from(text), MAX_MANIFEST_DEPTH) > MAX_MANIFEST_DEPTH) {
    return unreadable(`Its ${MANIFEST_FILE} is nested deeper than ${MAX_MANIFEST_DEPTH} levels.`);
  }
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    return unreadable(`Its ${MANIFEST_FILE} is not JSON, or is incomplete.`);
  }
  const parsed = moduleManifestSchema.safeParse(json);
  if (!parsed.success) {
    const issues = parsed.error.issues
      .slice(0, MAX_ISSUES)
      .map((issue) => `${issue.path.join(".") || "the top"}: ${issue.message}`);
    return { ...unreadable(`Its ${MANIFEST_FILE} is wrong at ${issues.join("; ")}.`), ...salvage(json) };
  }
  const manifest = parsed.data;
  if (JSON.stringify(manifest).includes("\\u0000")) {
    return { ...unreadable(`Its ${MANIFEST_FILE} holds a NUL character.`), ...salvage(json) };
  }
  return { ok: true, manifest };
}

function unreadable(error: string): Extract<ManifestReading, { ok: false }> {
  return { ok: false, error, id: null, type: null };
}

function salvage(json: unknown): { id: string | null; type: ModuleType | null } {
  if (json === null || typeof json !== "object") return { id: null, type: null };
  const { id, type } = json as Record<string, unknown>;
  return {
    id: isModuleId(id) ? id : null,
    type: type === "adapter" || type === "environment" ? type : null,
  };
}

export function isModuleId(value: unknown): value is string {
  return typeof value === "string" && value.length <= 100 && MODULE_ID_PATTERN.test(value);
}
