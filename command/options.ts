/**
 * Parses arguments and options into the form that the API takes. Each parser throws a Failure that says what was
 * expected.
 */
import { closeSync, createReadStream, openSync, readSync, statSync } from "node:fs";
import type { Readable } from "node:stream";
import { parseExactJson } from "#kernel/input.ts";
import { usageFailure } from "./failure.ts";

const UNITS_MS: Record<string, number> = { "": 1, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const UNITS_MB: Record<string, number> = { "": 1, mb: 1, gb: 1024 };
const MAX_MS = 7 * 24 * 3_600_000;

/**
 * Parses `1500`, `1500ms`, `30s`, `5m`, `1h` as milliseconds. `none` is Infinity, because commander takes null for a
 * missing value.
 */
export function parseDuration(text: string): number {
  if (text === "none") return Number.POSITIVE_INFINITY;
  return parseAmount(text, UNITS_MS, MAX_MS, "a time such as 500ms, 30s, 5m, or none");
}

/** Parses `256`, `256mb`, `1gb` as megabytes of 2^20 bytes. */
export function parseMemory(text: string): number {
  return parseAmount(text, UNITS_MB, 65_536, "a size such as 256, 256mb or 1gb");
}

function parseAmount(text: string, units: Record<string, number>, max: number, expected: string): number {
  const [, digits = "", unit = ""] =
    /^(\d{1,12}(?:\.\d{1,3})?)\s*([a-z]*)$/.exec(text.trim().toLowerCase()) ?? [];
  const factor = units[unit];
  const amount = Math.round(Number(digits) * (factor ?? Number.NaN));
  if (digits === "" || factor === undefined || !(amount >= 1 && amount <= max)) {
    throw usageFailure(`Expected ${expected}; found "${text}".`);
  }
  return amount;
}

export function parseWhole(text: string): number {
  const value = Number(text);
  if (!/^\d{1,15}$/.test(text)) throw usageFailure(`Expected a whole number; found "${text}".`);
  return value;
}

export function parseCount(text: string): number {
  const value = parseWhole(text);
  if (value < 1) throw usageFailure("Expected at least 1; found 0.");
  return value;
}

export function parseId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw usageFailure(`Expected the number of a process; found "${text}".`);
  return Number(text);
}

/** Accepts `a,b` as well as a repeated option. */
export function collect(text: string, before: readonly string[] | undefined): string[] {
  const parts = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  return [...(before ?? []), ...parts];
}

export function parseValue(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return text;
  }
}

/** `what` names the text in the error. Large integers keep their digits. */
export function parseJson(text: string, what: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    throw usageFailure(`${what} must be JSON: ${(error as Error).message}`);
  }
}

export function parseObject(text: string, what: string): Record<string, unknown> {
  const value = parseJson(text, what);
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw usageFailure(
    `${what} must be a JSON object; found ${Array.isArray(value) ? "a list" : typeof value}.`,
  );
}

export function parseOneOf<T extends string>(text: string, words: readonly T[], what: string): T {
  const word = words.find((one) => one === text);
  if (word !== undefined) return word;
  throw usageFailure(`${what} is ${words.slice(0, -1).join(", ")} or ${words.at(-1)}; found "${text}".`);
}

export function parsePair(text: string): [name: string, value: unknown] {
  const at = text.indexOf("=");
  if (at < 1) throw usageFailure(`Expected name=value; found "${text}".`);
  return [text.slice(0, at), parseValue(text.slice(at + 1))];
}

/** Converts a name to a JSON Pointer; leaves a JSON Pointer unchanged. */
export function toPointer(name: string): string {
  return name.startsWith("/") ? name : `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** Reads UTF-8 text of at most `maxBytes` from a file, or from standard input for `-`. */
export async function readText(
  path: string,
  session: { readonly stdin: Readable },
  maxBytes: number,
): Promise<string> {
  const name = path === "-" ? "Standard input" : path;
  // Reads plain files synchronously: they never wait for a writer, and loading node:fs/promises or streams takes longer
  // than reading a script.
  const bytes =
    path === "-"
      ? await readStream(session.stdin, maxBytes)
      : statSync(path, { throwIfNoEntry: false })?.isFile()
        ? readPlainFile(path, maxBytes)
        : await readStream(createReadStream(path), maxBytes).catch((error) => {
            throw fileFailure(path, error);
          });
  if (bytes === null) throw usageFailure(`${name} is larger than ${maxBytes} bytes.`, "too_large");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw usageFailure(`${name} is not UTF-8 text.`, "not_text");
  }
}

/** Returns null if the file is longer. It may grow while it is read. */
function readPlainFile(path: string, maxBytes: number): Buffer | null {
  try {
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.allocUnsafeSlow(maxBytes + 1);
      let size = 0;
      for (let more = true; more; ) {
        const read = readSync(file, bytes, size, bytes.length - size, null);
        size += read;
        more = read > 0 && size <= maxBytes;
      }
      return size > maxBytes ? null : bytes.subarray(0, size);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw fileFailure(path, error as NodeJS.ErrnoException);
  }
}

function fileFailure(path: string, error: NodeJS.ErrnoException): Error {
  const why: Record<string, string> = {
    ENOENT: "there is no such file",
    EISDIR: "it is a folder",
    EACCES: "this user may not read it",
  };
  return usageFailure(
    `${path} cannot be read: ${why[error.code ?? ""] ?? error.message}.`,
    error.code === "ENOENT" ? "no_such_file" : "unreadable_file",
  );
}

/** Returns null if the stream is longer. */
async function readStream(stream: Readable, maxBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size > maxBytes) return null;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
