/**
 * Summarises parameters for the audit trail: a SHA-256 over all of them, with which a reader who has the originals
 * can verify them, and a preview with secrets replaced, sensitive names masked and long values cut.
 */
import { createHash } from "node:crypto";
import { isRawInteger } from "#sdk";

export type Redact = <T>(json: T) => T;

export interface DescribedParameters {
  sha256: Buffer;
  preview: string;
}

const MAX_PREVIEW_CHARACTERS = 2000;
const MAX_TEXT_CHARACTERS = 100;
const MAX_ITEMS = 20;
const MAX_DEPTH = 5;
/** Maximum depth; foreign JSON is nested less deeply. For deeper values, only the position is hashed. */
const MAX_HASH_DEPTH = 200;
/**
 * Characters collected for each `hash.update` call, which has a fixed cost equal to hashing a few hundred characters.
 */
const HASHED_CHARACTERS = 64 * 1024;
const COVERED = "[redacted]";
const SOUNDS_SECRET =
  /secret|passw|passphrase|token|credential|authori[sz]ation|api[-_]?key|private[-_]?key|cookie|bearer/i;
/** Members with documents and scripts, whose beginning says little and may contain anything. */
const DOCUMENTS = new Set(["code", "content", "definition", "script", "body"]);

export function describeParameters(
  parameters: unknown,
  redact: Redact = (json) => json,
): DescribedParameters {
  const hash = createHash("sha256");
  let pending = "";
  updateCanonical(parameters, 0, (text) => {
    pending += text;
    if (pending.length < HASHED_CHARACTERS) return;
    hash.update(pending);
    pending = "";
  });
  return {
    sha256: hash.update(pending).digest(),
    preview: cutText(preview(parameters, redact), MAX_PREVIEW_CHARACTERS),
  };
}

const isInteger = (value: object) => "rawJSON" in value && isRawInteger(value);

/** Hashes JSON with sorted keys, so that the order of keys does not change the hash. */
function updateCanonical(value: unknown, depth: number, update: (text: string) => void): void {
  const isNested = typeof value === "object" && value !== null && !isInteger(value);
  if (!isNested || depth >= MAX_HASH_DEPTH) {
    update(JSON.stringify(isNested ? "[too deep]" : value) ?? "null");
    return;
  }
  const isList = Array.isArray(value);
  update(isList ? "[" : "{");
  let separator = "";
  const entries = isList
    ? value.map((item): [null, unknown] => [null, item])
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [key, item] of entries) {
    update(key === null ? separator : `${separator}${JSON.stringify(key)}:`);
    updateCanonical(item, depth + 1, update);
    separator = ",";
  }
  update(isList ? "]" : "}");
}

/** Cuts before redacting, so that no time is spent on megabytes that are never shown. */
function preview(parameters: unknown, redact: Redact): string {
  try {
    return JSON.stringify(redact(shorten(parameters, 0))) ?? "null";
  } catch {
    return JSON.stringify(COVERED);
  }
}

function shorten(value: unknown, depth: number): unknown {
  if (typeof value === "string") return shortenText(value);
  if (typeof value !== "object" || value === null) return value;
  if (isInteger(value)) return value.rawJSON;
  if (depth >= MAX_DEPTH) return Array.isArray(value) ? `[${value.length} items]` : "{...}";
  if (Array.isArray(value)) {
    const items = value.slice(0, MAX_ITEMS).map((item) => shorten(item, depth + 1));
    return value.length > MAX_ITEMS ? [...items, `[${value.length - MAX_ITEMS} more]`] : items;
  }
  const entries = Object.entries(value);
  // In a JSON Patch operation, `path` names what `value` is.
  const { path } = value as { path?: unknown };
  const names = typeof path === "string" && SOUNDS_SECRET.test(path.slice(0, 1000)) ? ["value"] : [];
  const shown = entries.slice(0, MAX_ITEMS).map(([key, item]) => {
    if (names.includes(key) || SOUNDS_SECRET.test(key.slice(0, 200))) return [shortenText(key), COVERED];
    if (typeof item === "string" && DOCUMENTS.has(key)) return [key, `[${item.length} characters]`];
    return [shortenText(key), shorten(item, depth + 1)];
  });
  if (entries.length > MAX_ITEMS) shown.push(["...", `${entries.length - MAX_ITEMS} more`]);
  return Object.fromEntries(shown);
}

/** Omits the parts of a URL that carry credentials. */
function shortenText(text: string): string {
  // Cutting could leave half a secret, which redaction would not recognise.
  if (text.length > MAX_TEXT_CHARACTERS) return `[${text.length} characters]`;
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || !URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") {
    url.username = "redacted";
    url.password = "";
  }
  if (url.search !== "") url.search = "?redacted";
  return url.href;
}

/** Replaces a long preview with its size, because cut JSON is not valid JSON. */
function cutText(text: string, max: number): string {
  const storable = text.replaceAll("\0", "").toWellFormed();
  return storable.length <= max ? storable : JSON.stringify(`[${storable.length} characters]`);
}
