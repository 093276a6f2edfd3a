/**
 * Calls of a script to its host: at most `maxConcurrentCalls` in flight, the others wait in order, at most `maxCalls`
 * in a run. A failed call rejects with an Error of this realm whose stack shows where the script made the call.
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

/** The longest id a call can have, for sizes. */
const MAX_ID = 1_000_000_000;
/** The host names as many. */
const MAX_WAITING_TOLD = 3;

export interface Call {
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
  /** The script has aborted it. */
  isAbandoned?: true;
  /** Ends that it is aborted with its signal. */
  unfollow?: () => void;
  next: Call | null;
}

const inFlight = new RealmMap<number, Call>();
let inFlightCount = 0;
let abandonedCount = 0;
/** Calls of scripts, and of files, made so far; a call is numbered when it is sent. */
let madeCount = 0;
let sentCount = 0;
let waitingHead: Call | null = null;
let waitingTail: Call | null = null;

/** Calls that have no reply and were not aborted. */
export function countOpenCalls(): number {
  return inFlightCount - abandonedCount + (waitingHead === null ? 0 : 1);
}

export interface HostCall {
  method: CallMethod;
  /** Returns JSON text and may throw; the promise then rejects with what it threw. */
  encode(): string;
  /** As the script wrote it. Absent: code of the realm made the call, and awaits it. */
  name?: string;
  /** What the script gets of the reply. */
  read?(reply: unknown, id: number): unknown;
  /** Aborts the call; asked for once `encode` has returned. */
  signal?(): AbortSignal | undefined;
  /** Gets what gives the call up. */
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
    // Getters and toJSON of the parameters run in here and may make calls: calls are counted and numbered afterwards.
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
 * The script aborts a call: it is not waited for. It keeps its place among those in line or in flight until the host has replied, so that
 * calls are sent in the same order when the run is repeated. `why`: what it rejects with at once; null: as the host replies.
 */
function abandon(call: Call, why: { reason: unknown } | null): void {
  if (call.isAbandoned || (call.id !== 0 && !isCallOpen(call.id))) return;
  call.isAbandoned = true;
  if (why !== null) call.reject(why.reason);
  if (call.id === 0) return;
  abandonedCount++;
  sendCancel(call.id);
}

/** The number of a call that is sent now. */
export function takeId(): number {
  sentCount++;
  return sentCount;
}

export function sendWithSpan(text: string, method: CallMethod, span: Span | null): void {
  if (span !== null && method === "writeFile") sendCallWith(text, span);
  else sendCall(text);
}

/** Puts what has come with a reply where the call wants it. */
export function takeBytes(span: Span, message: object): void {
  const result = own(message, "result");
  if (typeof result === "object" && result !== null) takeAttached(span, own(result, "bytes") as number);
}

/** The places of calls that the script waits for longest, as members of a JSON array. */
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

/** To be called when a reply comes, whenever the script gets it: its bytes are there only now. */
export function takeBytesOf(id: number, message: object): void {
  const call = mapGet(inFlight, id) as Call | undefined;
  if (call?.method === "readFile" && call.span !== null) takeBytes(call.span, message);
}

/** A reply of the host; one for an unknown call is ignored. */
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
