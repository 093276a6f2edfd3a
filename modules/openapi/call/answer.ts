/** Turns an HTTP response into a script's `{status, headers, body}`, within the limits on size and JSON nesting. */
import { readHeaders } from "#modules/shared/answer-headers.ts";
import { readBytes, readFor } from "#modules/shared/limits.ts";
import { type InvokeInput, parseExactJson } from "#sdk";
import { CallError } from "../failures.ts";
import { essence, isJson, isText } from "../media-types.ts";

const MAX_JSON_DEPTH = 500;

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
  /** Set if an event stream did not end in time; `body` is then only its beginning. */
  truncated?: true;
}

export function readBody(response: Response, maxBytes: number, what: string): Promise<Buffer<ArrayBuffer>> {
  const message = `${what} returned more than ${maxBytes} bytes. Request less, or raise maxResponseBytes.`;
  return readBytes(response, maxBytes, () => new CallError("answer_too_large", message, response.status));
}

export interface Reading {
  maxResponseBytes: number;
  maxStreamMs: number;
  maxStreamBytes: number;
  accept: string;
}

export async function readAnswer(response: Response, reading: Reading, what: string): Promise<Answer> {
  const { status } = response;
  const headers = readHeaders(response.headers);
  const contentType = response.headers.get("content-type") ?? "";
  if (essence(contentType) === "text/event-stream") {
    const { bytes, isWhole } = await readFor(response, reading.maxStreamMs, reading.maxStreamBytes);
    const text = readText(bytes, contentType);
    if (isWhole) return { status, headers, body: text };
    return { status, headers, body: dropHalfEvent(text), truncated: true };
  }
  const bytes = await readBody(response, reading.maxResponseBytes, what);
  return { status, headers, body: decode(bytes, response, what, reading.accept) };
}

function dropHalfEvent(text: string): string {
  const ends = ["\r\n\r\n", "\n\n", "\r\r"].map((line) => {
    const at = text.lastIndexOf(line);
    return at === -1 ? 0 : at + line.length;
  });
  return text.slice(0, Math.max(...ends) || text.length);
}

/** Saves the body under the name the script chose, and returns the name and size of the file in its place. */
export async function saveAnswer(
  response: Response,
  save: NonNullable<InvokeInput["save"]>,
): Promise<Answer> {
  const contentType = response.headers.get("content-type") ?? "application/octet-stream";
  const body = await save(contentType, response.body ?? new Blob().stream());
  return { status: response.status, headers: readHeaders(response.headers), body };
}

function decode(bytes: Buffer<ArrayBuffer>, response: Response, what: string, accept: string): unknown {
  if (bytes.length === 0) return null;
  const contentType = response.headers.get("content-type") ?? "";
  const type = essence(contentType);
  if (isJson(type)) return decodeJson(readText(bytes, contentType), response, what);
  const promised = accept.split(",").map(essence);
  if (!promised.includes(type) && promised.some(isJson)) {
    const value = parsePromised(bytes);
    if (value !== undefined) return value;
  }
  if (isText(type)) return readText(bytes, contentType);
  return { contentType: contentType || "application/octet-stream", base64: bytes.toString("base64") };
}

/** Parses JSON that is labeled as something else. Returns undefined for anything but JSON. */
function parsePromised(bytes: Buffer): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return isDeep(text) ? undefined : parseExactJson(text);
  } catch {
    return undefined;
  }
}

/** A body that is not JSON fails the call, except for an error status: then it is returned as text. */
function decodeJson(text: string, response: Response, what: string): unknown {
  try {
    if (isDeep(text)) throw new RangeError(`it nests deeper than ${MAX_JSON_DEPTH} levels`);
    return parseExactJson(text);
  } catch (error) {
    if (!response.ok) return text;
    throw new CallError(
      "malformed_answer",
      // The parser's message quotes the text around the mistake, which may be part of a secret.
      `${what} returned status ${response.status} with a body that is labeled as JSON but is not valid JSON${error instanceof RangeError ? `: ${error.message}` : ""}.`,
      response.status,
    );
  }
}

/** Checked before parsing, because serializing very deep JSON again would overflow the stack. */
function isDeep(text: string): boolean {
  if (text.length < MAX_JSON_DEPTH) return false;
  let depth = 0;
  let inText = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (inText) {
      if (code === 0x5c) index += 1;
      else if (code === 0x22) inText = false;
    } else if (code === 0x22) inText = true;
    else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > MAX_JSON_DEPTH) return true;
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return false;
}

function readText(bytes: Buffer, contentType: string): string {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
