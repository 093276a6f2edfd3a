/**
 * Calls of a script to its host: at most `maxConcurrentCalls` in flight, the others wait in order, at most `maxCalls`
 * in a run. A failed call rejects with an Error of this realm whose stack shows where the script made the call.
 */
import type { CallMethod, PROTOCOL_LIMITS } from "../../../wire/protocol.ts";
import { blobsIfLoaded, loadEncoding, streamsIfLoaded } from "../globals/loaders.ts";
import { noteReply } from "../journal.ts";
import { encodeJson, utf8Length } from "../json.ts";
import { MAX_RESULT_DEPTH, run } from "../limits.ts";
import {
  defineHidden,
  JSONParse,
  mapDelete,
  mapGet,
  mapSet,
  ObjectDefineProperty,
  ObjectHasOwn,
  ObjectKeys,
  own,
  RealmError,
  RealmMap,
  RealmPromise,
  RealmRangeError,
  StringOf,
} from "../primordials.ts";
import {
  awaitReply,
  callText,
  type Span,
  sendCall,
  sendCallWith,
  sendCancel,
  takeAttached,
} from "../sending.ts";
import { warnOfNull } from "../warnings.ts";

/** Literals, so that no schema library comes into the realm; the types keep them equal to the host's. */
const MAX_FILE_CALLS: (typeof PROTOCOL_LIMITS)["maxFileCalls"] = 50_000;
/** The engine's longest string is somewhat longer; a workspace has its own limit. */
const MAX_FILE_JSON_BYTES = 500_000_000;
/** The longest id a call can have, for sizes. */
const MAX_ID = 1_000_000_000;

interface Call {
  /** 0 while it waits to be sent. */
  id: number;
  method: CallMethod;
  /** JSON text. */
  params: string;
  /** Bytes that are sent along, or where those of the reply go. */
  span: Span | null;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
  /** Made when the script made the call, for its stack; completed when the call fails. */
  failure: Error;
  next: Call | null;
}

const inFlight = new RealmMap<number, Call>();
let inFlightCount = 0;
/** Calls of scripts, and of files, made so far; a call is numbered when it is sent. */
let madeCount = 0;
let fileCount = 0;
let sentCount = 0;
let waitingHead: Call | null = null;
let waitingTail: Call | null = null;

/** Calls that have not been answered. */
export function countOpenCalls(): number {
  return inFlightCount + (waitingHead === null ? 0 : 1);
}

/**
 * `encodeParams` returns JSON text and may throw; the promise then rejects with what it threw. `read`: what the script gets of
 * the reply. `onMade` gets what gives the call up; it then rejects as the host says, or with the reply that was quicker.
 */
export function callHost(
  method: CallMethod,
  encodeParams: () => string,
  read?: (reply: unknown) => unknown,
  onMade?: (cancel: () => void) => void,
): Promise<unknown> {
  return new RealmPromise((settle, reject) => {
    const resolve = read === undefined ? settle : (reply: unknown) => settle(read(reply));
    const failure = new RealmError();
    const { maxCalls, maxMessageBytes } = run.limits;
    // Getters and toJSON of the parameters run in here and may make calls: calls are counted and numbered afterwards.
    const params = encodeParams();
    if (madeCount >= maxCalls) {
      throw completeError(failure, {
        message: `This run has made ${StringOf(maxCalls)} calls, the most a run may make (maxCalls). Ask for more data per call, or split the work over several runs.`,
        code: "max_calls",
      });
    }
    const bytes = utf8Length(callText(MAX_ID, method, params));
    if (bytes > maxMessageBytes) {
      throw completeError(failure, {
        message: `The parameters of this call make a message of ${StringOf(bytes)} bytes; at most ${StringOf(maxMessageBytes)} are allowed (maxMessageBytes). Send less, or send it in parts.`,
        code: "message_too_large",
      });
    }
    madeCount++;
    const call: Call = { id: 0, method, params, span: null, resolve, reject, failure, next: null };
    enqueue(call);
    if (onMade !== undefined) onMade(() => cancel(call));
  });
}

/** Nothing for a call that has its reply. */
function cancel(call: Call): void {
  if (call.id === 0) {
    if (dropWaiting(call)) {
      const fields = { message: "The call was canceled before it was made.", code: "call_canceled" };
      call.reject(completeError(call.failure, fields));
    }
  } else if (isCallOpen(call.id)) sendCancel(call.id);
}

/** False: it does not wait. */
function dropWaiting(call: Call): boolean {
  let before: Call | null = null;
  for (let waiting = waitingHead; waiting !== null; before = waiting, waiting = waiting.next) {
    if (waiting !== call) continue;
    if (before === null) waitingHead = call.next;
    else before.next = call.next;
    if (waitingTail === call) waitingTail = before;
    return true;
  }
  return false;
}

/**
 * A call about files: these are counted by themselves, and bounded by their pieces. `params`: JSON text. `span`: what `writeFile`
 * writes, and where `readFile` puts what it reads.
 */
export function callForFile(method: CallMethod, params: string, span: Span | null): Promise<unknown> {
  return new RealmPromise((resolve, reject) => {
    const failure = new RealmError();
    countFileCall();
    enqueue({ id: 0, method, params, span, resolve, reject, failure, next: null });
  });
}

/** As `callForFile`; the script stands still until the answer has come. What else comes meanwhile waits. */
export function callForFileSync(method: CallMethod, params: string, span: Span | null): unknown {
  const failure = new RealmError();
  countFileCall();
  sentCount++;
  sendWithSpan(callText(sentCount, method, params), method, span);
  const text = awaitReply(sentCount);
  if (text === undefined) {
    throw new RealmError(
      "Synchronous functions for files cannot wait here while a timer is set: use those of cyrnel.files or node:fs/promises.",
    );
  }
  const message = JSONParse(text) as object;
  const error = own(message, "error");
  if (typeof error === "object" && error !== null) throw completeError(failure, readError(error));
  if (method === "readFile" && span !== null) takeBytes(span, message);
  return own(message, "result");
}

function sendWithSpan(text: string, method: CallMethod, span: Span | null): void {
  if (span !== null && method === "writeFile") sendCallWith(text, span);
  else sendCall(text);
}

/** Puts what has come with a reply where the call wants it. */
function takeBytes(span: Span, message: object): void {
  const result = own(message, "result");
  if (typeof result === "object" && result !== null) takeAttached(span, own(result, "bytes") as number);
}

let fileLibrary: ReturnType<typeof import("./files.ts")["createFileLibrary"]> | undefined;

/** `cyrnel.files`, and what node:fs stands on. */
export function loadFiles() {
  fileLibrary ??= (require("./files.ts") as typeof import("./files.ts")).createFileLibrary(
    {
      call: callForFile,
      callSync: callForFileSync,
      blobsIfLoaded,
      streamsIfLoaded,
      loadEncoding,
      encodeFileJson,
    },
    run.files,
  );
  return fileLibrary;
}

function encodeFileJson(data: unknown): string | undefined {
  const limits = {
    name: "data",
    maxDepth: MAX_RESULT_DEPTH,
    maxBytes: MAX_FILE_JSON_BYTES,
    onNull: warnOfNull,
  };
  const { text, tooLarge } = encodeJson(data, limits);
  if (tooLarge) throw new RealmRangeError("The JSON of this file would be larger than a text can be.");
  return text;
}

/** Undefined while nothing has asked for files: then there are those of the start. */
export function loadedFiles(): typeof fileLibrary {
  return fileLibrary;
}

function countFileCall(): void {
  if (fileCount >= MAX_FILE_CALLS) {
    throw new RealmError(
      `This run has read or written files ${StringOf(MAX_FILE_CALLS)} times, the most a run may. Read and write larger pieces.`,
    );
  }
  fileCount++;
}

export function isCallOpen(id: number): boolean {
  return mapGet(inFlight, id) !== undefined;
}

/** To be called when a reply comes, whenever the script gets it: its bytes are there only now. */
export function takeBytesOf(id: number, message: object): void {
  const call = mapGet(inFlight, id) as Call | undefined;
  if (call?.method === "readFile" && call.span !== null) takeBytes(call.span, message);
}

/** A reply of the host; one for an unknown call is ignored. */
export function settleCall(id: number, message: object): void {
  const call = mapGet(inFlight, id) as Call | undefined;
  if (call === undefined) return;
  noteReply(id);
  mapDelete(inFlight, id);
  inFlightCount--;
  sendNext();
  const error = own(message, "error");
  if (typeof error === "object" && error !== null) call.reject(completeError(call.failure, readError(error)));
  else call.resolve(own(message, "result"));
}

function readError(error: object): ErrorFields {
  const data = own(error, "data");
  const source = typeof data === "object" && data !== null ? data : error;
  return {
    name: own(source, "name"),
    message: own(source, "message"),
    code: own(source, "code"),
    status: own(source, "status"),
    data: own(source, "data"),
  };
}

function enqueue(call: Call): void {
  if (waitingTail === null) waitingHead = call;
  else waitingTail.next = call;
  waitingTail = call;
  sendNext();
}

function sendNext(): void {
  while (waitingHead !== null && inFlightCount < run.limits.maxConcurrentCalls) {
    const call = waitingHead;
    waitingHead = call.next;
    if (waitingHead === null) waitingTail = null;
    sentCount++;
    const id = sentCount;
    call.id = id;
    mapSet(inFlight, id, call);
    inFlightCount++;
    try {
      sendWithSpan(callText(id, call.method, call.params), call.method, call.span);
      call.params = "";
      if (call.method === "writeFile") call.span = null;
    } catch (error) {
      mapDelete(inFlight, id);
      inFlightCount--;
      call.reject(error);
    }
  }
}

interface ErrorFields {
  name?: unknown;
  message: unknown;
  code?: unknown;
  status?: unknown;
  /** Further members. */
  data?: unknown;
}

function completeError(error: Error, fields: ErrorFields): Error {
  if (typeof fields.name === "string" && fields.name !== "Error") defineHidden(error, "name", fields.name);
  defineHidden(error, "message", typeof fields.message === "string" ? fields.message : "The call failed.");
  if (typeof fields.code === "string") (error as { code?: string }).code = fields.code;
  if (typeof fields.status === "number") (error as { status?: number }).status = fields.status;
  if (typeof fields.data === "object" && fields.data !== null) addMembers(error, fields.data);
  return error;
}

/** Members that an error has already, such as its message and stack, stay as they are. */
function addMembers(error: Error, data: object): void {
  const keys = ObjectKeys(data);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    if (ObjectHasOwn(error, key)) continue;
    ObjectDefineProperty(error, key, {
      __proto__: null,
      value: own(data, key),
      writable: true,
      configurable: true,
      enumerable: true,
    } as PropertyDescriptor);
  }
}
