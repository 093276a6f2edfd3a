/**
 * Calls of a script to its host. At most `maxConcurrentCalls` are in flight while others wait in order; a run makes
 * at most `maxCalls`. A failed call rejects with an Error of this realm whose stack shows where the script made the
 * call.
 */
import type { CallMethod } from "../../../wire/protocol.ts";
import { followSignal } from "../globals/loaders.ts";
import { recordReply } from "../journal.ts";
import { utf8Length } from "../json/encode.ts";
import { run } from "../limits.ts";
import { isDraining } from "../outcome.ts";
import {
  mapDelete,
  mapGet,
  mapSet,
  own,
  RealmError,
  RealmMap,
  RealmPromise,
  StringOf,
} from "../primordials.ts";
import { callText, type Span, sendCall, sendCallWith, sendCancel, takeAttached } from "../sending.ts";
import { encodePlace, locate } from "../stacks.ts";
import { continueFrom } from "../timers.ts";
import { makeCallPromise, recordFailure, recordResult, startCall } from "../unawaited.ts";
import { completeError, readError } from "./call-error.ts";

/** Longest possible id, used to compute message sizes. */
const MAX_ID = 1_000_000_000;
const MAX_WAITING_TOLD = 3;

export interface Call {
  /** 0 until the call is sent. */
  id: number;
  method: CallMethod;
  /** JSON text. */
  params: string;
  /** Bytes to send with the call, or the range that receives the reply's bytes. */
  span: Span | null;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
  /** Created with the call, so that its stack shows the script's line; completed when the call fails. */
  failure: Error;
  isAbandoned?: true;
  /** Stops listening to the signal that aborts the call. */
  unfollow?: () => void;
  next: Call | null;
}

const inFlight = new RealmMap<number, Call>();
let inFlightCount = 0;
let abandonedCount = 0;
/** Number of calls made so far, by the script and for files. A call gets its id only when it is sent. */
let madeCount = 0;
let sentCount = 0;
let waitingHead: Call | null = null;
let waitingTail: Call | null = null;

export function countOpenCalls(): number {
  return inFlightCount - abandonedCount + (waitingHead === null ? 0 : 1);
}

export interface HostCall {
  method: CallMethod;
  /** Returns JSON text. If it throws, the promise rejects with that error. */
  encode(): string;
  /**
   * Name of the call in the script, such as `tools.orders.list`. Absent if the realm itself makes and awaits the
   * call.
   */
  name?: string;
  read?(reply: unknown, id: number): unknown;
  signal?(): AbortSignal | undefined;
  onMade?(abandon: () => void): void;
}

export function callHost({ method, encode, name, read, signal, onMade }: HostCall): Promise<unknown> {
  const failure = new RealmError();
  const call: Call = {
    id: 0,
    method,
    params: "",
    span: null,
    resolve: ignore,
    reject: ignore,
    failure,
    next: null,
  };
  const promise = name === undefined ? makePromise(call) : makeWatchedPromise(call, name);
  if (read !== undefined) {
    const { resolve } = call;
    call.resolve = (reply) => resolve(read(reply, call.id));
  }
  try {
    // Getters and toJSON methods of the parameters run in here and may make calls, so calls are counted and numbered
    // afterwards.
    call.params = encode();
    const aborter = signal?.();
    if (aborter !== undefined) call.unfollow = followSignal(aborter, (reason) => abandon(call, { reason }));
    if (call.isAbandoned) return promise;
    checkSize(call);
    madeCount++;
    enqueue(call);
    onMade?.(() => abandon(call, null));
  } catch (error) {
    call.reject(error);
  }
  return promise;
}

function ignore(): void {}

function makePromise(call: Call): Promise<unknown> {
  return new RealmPromise((resolve, reject) => {
    call.resolve = resolve;
    call.reject = reject;
  });
}

function makeWatchedPromise(call: Call, name: string): Promise<unknown> {
  const started = startCall(name, call.failure);
  const promise = makeCallPromise((resolve, reject) => {
    call.resolve = (value) => {
      resolve(value);
      if (!call.isAbandoned) recordResult(started);
    };
    call.reject = (reason) => {
      recordFailure(started, promise, reason, call.isAbandoned === true);
      reject(reason);
    };
  }, started);
  return promise;
}

function checkSize({ method, params, failure }: Call): void {
  const { maxCalls, maxMessageBytes } = run.limits;
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
}

/**
 * Aborts a call for the script, so that the run no longer waits for it. The call keeps its place in the queue or in
 * flight until the host replies, so that a replay sends calls in the same order. The promise rejects with `why` now
 * or, if `why` is null, with the host's reply.
 */
function abandon(call: Call, why: { reason: unknown } | null): void {
  if (call.isAbandoned || (call.id !== 0 && !isCallOpen(call.id))) return;
  call.isAbandoned = true;
  if (why !== null) call.reject(why.reason);
  if (call.id === 0) return;
  abandonedCount++;
  sendCancel(call.id);
}

export function takeId(): number {
  sentCount++;
  return sentCount;
}

export function sendWithSpan(text: string, method: CallMethod, span: Span | null): void {
  if (span !== null && method === "writeFile") sendCallWith(text, span);
  else sendCall(text);
}

export function takeBytes(span: Span, message: object): void {
  const result = own(message, "result");
  if (typeof result === "object" && result !== null) takeAttached(span, own(result, "bytes") as number);
}

/** Returns where the script made the calls it has waited for longest, as members of a JSON array. */
export function listWaiting(): string {
  let text = "";
  let left = MAX_WAITING_TOLD;
  for (let id = 1; id <= sentCount && left > 0; id++) {
    const call = mapGet(inFlight, id) as Call | undefined;
    if (call === undefined || call.isAbandoned) continue;
    left--;
    const position = locate(call.failure);
    if (position !== undefined) text += `${text === "" ? "" : ","}${encodePlace(id, position)}`;
  }
  return text;
}

export function isCallOpen(id: number): boolean {
  return mapGet(inFlight, id) !== undefined;
}

/** Call as soon as a reply arrives, even if the script gets it later: its bytes are available only now. */
export function takeBytesOf(id: number, message: object): void {
  const call = mapGet(inFlight, id) as Call | undefined;
  if (call?.method === "readFile" && call.span !== null) takeBytes(call.span, message);
}

/** Settles a call with the host's reply. Ignores a reply to an unknown call. */
export function settleCall(id: number, message: object): void {
  const call = mapGet(inFlight, id) as Call | undefined;
  if (call === undefined) return;
  recordReply(id);
  mapDelete(inFlight, id);
  inFlightCount--;
  if (call.isAbandoned) abandonedCount--;
  call.unfollow?.();
  continueFrom(isDraining());
  sendNext();
  const error = own(message, "error");
  if (typeof error === "object" && error !== null) call.reject(completeError(call.failure, readError(error)));
  else call.resolve(own(message, "result"));
}

export function enqueue(call: Call): void {
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
    const id = takeId();
    call.id = id;
    mapSet(inFlight, id, call);
    inFlightCount++;
    try {
      // The host records the call without making it.
      if (call.isAbandoned) sendCancel(id);
      sendWithSpan(callText(id, call.method, call.params), call.method, call.span);
      if (call.isAbandoned) abandonedCount++;
      call.params = "";
      if (call.method === "writeFile") call.span = null;
    } catch (error) {
      mapDelete(inFlight, id);
      inFlightCount--;
      call.reject(error);
    }
  }
}
