/** What an adapter has answered as what a script gets: JSON within limits, or a file of the run's workspace. */

import { contentTypeOf, isTextType } from "#kernel/file-names.ts";
import { measureDepth } from "#kernel/json-depth.ts";
import { limitWaits, orAborted } from "#modules/shared/limits.ts";
import {
  type InvokeInput,
  mayHoldLargeInteger,
  type OpenStream,
  parseExactJson,
  type SavedFile,
  toRawInteger,
} from "#sdk";
import type { Redactor } from "../secrets/redactor.ts";
import type { CallState } from "./call-state.ts";
import type { ToolCall } from "./contract.ts";
import { refuseCall } from "./failure.ts";

export type Save = NonNullable<InvokeInput["save"]>;

const MAX_RESULT_DEPTH = 200;
/** `type/subtype`, and parameters. */
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(;[\x20-\x7e]{0,100})?$/;

/**
 * Writes an answer to the workspace: none of it after the call is over, and nothing of an answer that breaks off. `isFetch`: it
 * is the body of a request, and known secrets are taken out of it whatever its server says that it is.
 */
export function createSave(
  { workspace, signal }: Pick<ToolCall, "workspace"> & { signal: AbortSignal },
  redactor: Pick<Redactor, "createByteStream">,
  isFetch: boolean,
): Save | undefined {
  const saveAs = workspace?.saveAs;
  if (saveAs === undefined) return undefined;
  const { name, save } = saveAs;
  return async (type, bytes) => {
    const contentType = MEDIA_TYPE.test(type) ? type : "application/octet-stream";
    const isText = isFetch || [contentType.toLowerCase(), contentTypeOf(name)].some(isTextType);
    const pieces = whileOpen(bytes, signal);
    const { size } = await save(isText ? redactBytes(pieces, redactor) : pieces);
    return { file: name, size, contentType };
  };
}

/** Gives an answer and its body to a script without known secrets, also where one is split over two pieces. */
export function createOpenStream(
  open: OpenStream,
  call: Pick<CallState, "signal" | "timer" | "phase">,
  redactor: Pick<Redactor, "text" | "value" | "createByteStream">,
  maxAnswerBytes: number,
): OpenStream {
  return () => {
    const stream = open();
    if (stream === null) return null;
    return (given, bytes) => {
      const { answer } = toJsonResult(given, maxAnswerBytes);
      call.phase = "streaming";
      const pieces = limitWaits(whileOpen(bytes, call.signal), call.timer);
      return stream(redactor.value(redactAnswer(answer, redactor)), redactBytes(pieces, redactor));
    };
  };
}

/** For an adapter that saves nothing by itself: a text as it is, anything else as JSON. */
export function saveResult(result: unknown, save: Save): Promise<SavedFile> {
  const [contentType, text] =
    typeof result === "string" ? ["text/plain", result] : ["application/json", JSON.stringify(result)];
  return save(contentType, once(Buffer.from(text)));
}

/**
 * What `fetch` needs in the answer to be what it was: a body in base64 is read for known secrets as bytes, so that what is left is
 * base64 again; a header is left out whose name holds one, because no header can be called `[secret]`.
 */
export function redactAnswer(given: unknown, redactor: Pick<Redactor, "text" | "createByteStream">): unknown {
  const answer = given as { headers?: unknown; body?: { base64?: unknown } | null } | null;
  if (answer !== null && Array.isArray(answer.headers))
    answer.headers = answer.headers.filter((header) => {
      const name = String(header?.[0]);
      return redactor.text(name) === name;
    });
  const base64 = answer?.body?.base64;
  if (typeof base64 !== "string") return answer;
  const stream = redactor.createByteStream();
  const bytes = Buffer.concat([stream.push(Buffer.from(base64, "base64")), stream.end()]);
  return { ...answer, body: { base64: bytes.toString("base64") } };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Ends with the signal's reason, also while the source is silent. */
async function* whileOpen(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Buffer> {
  const source = bytes[Symbol.asyncIterator]();
  let isDone = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      const { done, value } = await orAborted(source.next(), signal);
      isDone = done === true;
      if (isDone) break;
      if (!(value instanceof Uint8Array)) throw new TypeError("An answer is saved from pieces of bytes.");
      yield Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    signal.throwIfAborted();
  } finally {
    // Not awaited: a source that hangs would keep the call.
    if (!isDone) void source.return?.()?.catch(() => {});
  }
}

async function* redactBytes(
  bytes: AsyncIterable<Buffer>,
  redactor: Pick<Redactor, "createByteStream">,
): AsyncGenerator<Buffer> {
  const stream = redactor.createByteStream();
  for await (const piece of bytes) yield stream.push(piece);
  yield stream.end();
}

export interface JsonResult {
  /** Large integers in it are RawIntegers. */
  answer: unknown;
  hasLargeIntegers: boolean;
  /** Or NaN: null in the answer. */
  hasInfinity: boolean;
}

/**
 * A copy of an adapter's result as JSON makes it, detached from what the adapter holds. Counts while it writes: an answer
 * of a gigabyte must not become a text of a gigabyte. Throws CallError `result_too_large` or `result_invalid`.
 */
export function toJsonResult(result: unknown, maxBytes: number): JsonResult {
  if (result === undefined || result === null)
    return { answer: null, hasLargeIntegers: false, hasInfinity: false };
  let left = maxBytes;
  let isTooLarge = false;
  let hasInfinity = false;
  function count(this: unknown, name: string, value: unknown): unknown {
    left -= 1 + (Array.isArray(this) ? 0 : name.length);
    if (typeof value === "string") left -= value.length;
    if (typeof value === "number" && !Number.isFinite(value)) hasInfinity = true;
    isTooLarge = left < (Array.isArray(value) ? value.length : 0);
    if (isTooLarge) throw new Error("too large");
    return typeof value === "bigint" ? toRawInteger(value) : value;
  }
  let text: string | undefined;
  try {
    text = JSON.stringify(result, count);
  } catch {
    // Too large, or not JSON data; an error of the adapter's own making is not looked at.
  }
  if (isTooLarge || (text !== undefined && Buffer.byteLength(text) > maxBytes)) {
    throw refuseCall(
      "result_too_large",
      `The tool's answer is larger than ${maxBytes} bytes (CYRNEL_MAX_CALL_RESULT_BYTES). Ask for less: a page, a filter, fewer fields.`,
    );
  }
  if (text === undefined) {
    throw refuseCall("result_invalid", "The tool answered something that is no JSON data.");
  }
  if (measureDepth(Buffer.from(text), MAX_RESULT_DEPTH) > MAX_RESULT_DEPTH) {
    throw refuseCall("result_invalid", `The tool's answer is nested deeper than ${MAX_RESULT_DEPTH} levels.`);
  }
  return { answer: parseExactJson(text), hasLargeIntegers: mayHoldLargeInteger(text), hasInfinity };
}
