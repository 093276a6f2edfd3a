/** A workspace file name is a label, never a path. */

export const MAX_FILE_NAME_BYTES = 255;
/** Name of the error that ends a run as `output_limit`. */
export const WORKSPACE_LIMIT_ERROR = "WorkspaceLimitError";

/** Returns why a name is invalid, completing "The file name …", or null. */
export function checkFileName(name: string): string | null {
  if (name === "") return "is empty";
  if (!name.isWellFormed()) return "is not well-formed Unicode";
  if (countBytes(name) > MAX_FILE_NAME_BYTES) return `is longer than ${MAX_FILE_NAME_BYTES} bytes of UTF-8`;
  if (CONTROL.test(name)) return "holds a control character";
  if (name.includes("\\")) return "contains a backslash; folders are separated by /";
  if (name.startsWith("/")) return "begins with /; names are relative to the workspace";
  if (name.normalize("NFC") !== name) return "is not in Unicode normalization form C";
  const segments = name.split("/");
  if (segments.includes("")) return "has an empty segment";
  if (segments.some((segment) => segment === "." || segment === "..")) return 'has a segment "." or ".."';
  return null;
}

export interface Folders {
  add(file: string): void;
  delete(file: string): void;
  has(folder: string): boolean;
  findBelow(folder: string): string | undefined;
  findFileAbove(file: string, files: { has(name: string): boolean }): string | undefined;
}

export function createFolders(): Folders {
  const folders = new Map<string, { files: number; first: string }>();
  return {
    add(file) {
      for (const folder of foldersOf(file)) {
        const { files, first } = folders.get(folder) ?? { files: 0, first: file };
        folders.set(folder, { files: files + 1, first });
      }
    },
    delete(file) {
      for (const folder of foldersOf(file)) {
        const { files, first } = folders.get(folder) as { files: number; first: string };
        if (files === 1) folders.delete(folder);
        else folders.set(folder, { files: files - 1, first });
      }
    },
    has: (folder) => folders.has(folder),
    findBelow: (folder) => folders.get(folder)?.first,
    findFileAbove: (file, files) => foldersOf(file).find((folder) => files.has(folder)),
  };
}

function foldersOf(file: string): string[] {
  const folders: string[] = [];
  for (let end = file.indexOf("/"); end !== -1; end = file.indexOf("/", end + 1))
    folders.push(file.slice(0, end));
  return folders;
}

function countBytes(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length && bytes <= MAX_FILE_NAME_BYTES; index++) {
    const unit = text.charCodeAt(index);
    // Each half of a surrogate pair counts as two of its four bytes.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit & 0xf800) === 0xd800 ? 2 : 3;
  }
  return bytes;
}

/** C0, DEL, C1, line and paragraph separators, and characters that change text direction. */
const CONTROL = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

const TYPES: Record<string, string> = {
  csv: "text/csv",
  css: "text/css",
  gif: "image/gif",
  gz: "application/gzip",
  htm: "text/html",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  js: "text/javascript",
  json: "application/json",
  jsonl: "application/jsonl",
  log: "text/plain",
  md: "text/markdown",
  mjs: "text/javascript",
  mts: "text/typescript",
  ndjson: "application/jsonl",
  parquet: "application/vnd.apache.parquet",
  pdf: "application/pdf",
  png: "image/png",
  sqlite: "application/vnd.sqlite3",
  svg: "image/svg+xml",
  tar: "application/x-tar",
  ts: "text/typescript",
  tsv: "text/tab-separated-values",
  txt: "text/plain",
  webp: "image/webp",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  zip: "application/zip",
  zst: "application/zstd",
};

const TEXT_TYPE =
  /^text\/|^application\/(?:.+\+)?(?:json|xml|yaml|x-yaml|javascript|sql|toml|x-ndjson|jsonl|x-sh)\b|\+(?:json|xml)\b/;

export function isTextType(contentType: string): boolean {
  return TEXT_TYPE.test(contentType);
}

/** Returns a media type without parameters, or `application/octet-stream` if the extension is unknown. */
export function contentTypeOf(name: string): string {
  const extension = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(TYPES, extension) ? (TYPES[extension] as string) : "application/octet-stream";
}
