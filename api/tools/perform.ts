/** Second half of a tool call: admit ► adapter ► redact. */
import { contentTypeOf, isTextType } from "#kernel/file-names.ts";
import { measureDepth } from "#kernel/json-depth.ts";
import { settleIntegers } from "#kernel/tool-docs/large-integers.ts";
import { limitWaits, orAborted } from "#modules/shared/limits.ts";
import {
  type AdapterModule,
  type InvokeInput,
  type JSONSchema,
  mayHoldLargeInteger,
  type OpenStream,
  parseExactJson,
  type SavedFile,
  toRawInteger,
} from "#sdk";
import type { Redactor } from "../secrets/redactor.ts";
import type { CallInProgress, CallWorkspace, MovedFile, ToolCall, ToolPath } from "./contract.ts";
import { CallError, isHttpStatus, readAdapterFailure, refuseCall } from "./failure.ts";
import type { FullPlan } from "./plan.ts";
import { openNoting, recordBytes } from "./requests/named-files.ts";

export interface PerformOptions {
  /** Rejects if the audit log cannot record the call. The call is then not made. */
  admit?: () => Promise<void>;
  /** Returns null if the adapter is not active. */
  findAdapter(id: string): AdapterModule | null;
  readOutputSchema(path: ToolPath): Promise<JSONSchema>;
  redactor: Pick<Redactor, "text" | "cut" | "value" | "createByteStream">;
  limits: { maxResultBytes: number };
}

/** Resolves with the result as JSON data. */
export async function performCall(options: PerformOptions, plan: FullPlan): Promise<unknown> {
  const { redactor, limits } = options;
  const { call, target } = plan;
  await options.admit?.();
  call.signal.throwIfAborted();
  const adapter = options.findAdapter(target.adapter);
  if (adapter === null) {
    throw refuseCall(
      "adapter_inactive",
      `The service ${call.serviceId} cannot be called: its adapter ${target.adapter} is not active.`,
    );
  }
  call.phase = "sent";
  call.workspace &&= watchFiles(call.workspace, call.moved);
  const save = createSave(call, redactor, target.isFetch);
  try {
    const value = await invoke(options, plan, adapter, save);
    const answer = await settle(options, call, toJsonResult(value, limits.maxResultBytes));
    const result = redactor.value(target.isFetch ? redactAnswer(answer, redactor) : answer);
    return save === undefined || adapter.savesAnswers === true ? result : await saveResult(result, save);
  } catch (error) {
    if (!(error instanceof CallError) || error.answer === undefined) throw error;
    const answer = await settle(options, call, toJsonResult(error.answer, limits.maxResultBytes));
    error.answer = answer as NonNullable<CallError["answer"]>;
    // The answer is already redacted. An answer that reports a failure is not saved.
    if (call.given.throwOnError === false) return answer;
    throw error;
  }
}

async function invoke(
  { redactor, limits }: PerformOptions,
  { call, parameters }: FullPlan,
  adapter: AdapterModule,
  save: Save | undefined,
): Promise<unknown> {
  const { serviceId, toolId, signal, caller, workspace } = call;
  const { warn, openStream } = call.given;
  try {
    return await adapter.invoke({
      serviceId,
      toolId,
      parameters,
      signal,
      ...(caller.processId !== undefined && { eid: caller.processId }),
      ...(workspace !== undefined && { files: workspace.files }),
      ...(warn !== undefined && { warn }),
      ...(save !== undefined && adapter.savesAnswers === true && { save }),
      ...(openStream && {
        openStream: createOpenStream(openStream, call, redactor, limits.maxResultBytes),
      }),
      onAnswered: (httpStatus) => recordStatus(call, httpStatus),
    });
  } catch (error) {
    const failure = readAdapterFailure(error, {
      cut: redactor.cut,
      answer: (answer) => redactor.value(toJsonResult(answer, limits.maxResultBytes).answer),
    });
    recordStatus(call, failure.status);
    throw failure;
  }
}

function recordStatus(call: CallInProgress, httpStatus: unknown): void {
  if (!isHttpStatus(httpStatus) || call.signal.aborted) return;
  call.httpStatus = httpStatus;
  call.given.onAnswered?.(httpStatus);
}

/**
 * Warns a script about numbers that differ from what the service sent, because scripts compute with numbers. A direct
 * caller reads the digits.
 */
async function settle(
  { readOutputSchema }: PerformOptions,
  call: CallInProgress,
  { answer, hasLargeIntegers, hasInfinity }: JsonResult,
): Promise<unknown> {
  const { warn } = call.given;
  if (warn === undefined) return answer;
  if (hasInfinity) {
    const message = "The answer holds a number that JavaScript has only as infinity, or NaN: it became null.";
    warn({ code: "value_not_json", message, path: "answer" });
  }
  return hasLargeIntegers ? settleIntegers(answer, await readOutputSchema(call), "answer", warn) : answer;
}

function watchFiles({ files, saveAs }: CallWorkspace, moved: MovedFile[]): CallWorkspace {
  return {
    files: { open: (name) => openNoting(files, name, moved) },
    ...(saveAs && {
      saveAs: { ...saveAs, save: (bytes) => saveAs.save(recordBytes(moved, saveAs.name, "saved", bytes)) },
    }),
  };
}

type Save = NonNullable<InvokeInput["save"]>;

const MAX_RESULT_DEPTH = 200;
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(;[\x20-\x7e]{0,100})?$/;

/**
 * Returns how to save the answer to the workspace, or nothing if it is not to be saved. `isFetch`: the answer is the
 * body of a `fetch` response, in which secrets are replaced whatever content type its server declares.
 */
function createSave(
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

/** Streams a response to a script and redacts known secrets, even if one is split across two chunks. */
function createOpenStream(
  open: OpenStream,
  call: Pick<CallInProgress, "signal" | "timer" | "phase">,
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

/** Saves the result for an adapter that does not save by itself: text unchanged, everything else as JSON. */
function saveResult(result: unknown, save: Save): Promise<SavedFile> {
  const [contentType, text] =
    typeof result === "string" ? ["text/plain", result] : ["application/json", JSON.stringify(result)];
  return save(contentType, once(Buffer.from(text)));
}

/**
 * Redacts a `fetch` response where plain redaction would break it: a base64 body is redacted as bytes and stays
 * base64; a header whose name contains a secret is dropped, because `[secret]` is not a valid header name.
 */
function redactAnswer(given: unknown, redactor: Pick<Redactor, "text" | "createByteStream">): unknown {
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

/** Ends with the signal's reason, even while the source is silent. */
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
    // Not awaited, because a hanging source would block the call.
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

interface JsonResult {
  /** Large integers in it are RawIntegers. */
  answer: unknown;
  hasLargeIntegers: boolean;
  /** True if the answer contains Infinity or NaN, which become null. */
  hasInfinity: boolean;
}

/**
 * Copies an adapter's result as JSON data. Counts bytes while writing, so that a huge result never becomes a huge
 * string. Throws CallError `result_too_large` or `result_invalid`.
 */
function toJsonResult(result: unknown, maxBytes: number): JsonResult {
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
    // The result is too large or not JSON data. An error thrown by the adapter's data is ignored.
  }
  if (isTooLarge || (text !== undefined && Buffer.byteLength(text) > maxBytes)) {
    throw refuseCall(
      "result_too_large",
      `The tool's answer is larger than ${maxBytes} bytes (CYRNEL_MAX_CALL_RESULT_BYTES). Ask for less: a page, a filter, fewer fields.`,
    );
  }
  if (text === undefined) {
    throw refuseCall("result_invalid", "The tool returned a value that is not JSON data.");
  }
  if (measureDepth(Buffer.from(text), MAX_RESULT_DEPTH) > MAX_RESULT_DEPTH) {
    throw refuseCall("result_invalid", `The tool's answer is nested deeper than ${MAX_RESULT_DEPTH} levels.`);
  }
  return { answer: parseExactJson(text), hasLargeIntegers: mayHoldLargeInteger(text), hasInfinity };
}
