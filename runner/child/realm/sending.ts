/**
 * The realm's only way out: complete messages as text. Nothing here may call a function that a script can replace,
 * and `emit` must never be stored outside this closure.
 */

import { ENCODED_BYTES } from "../../wire/realm-constants.ts";
import {
  JSONStringify,
  RealmUint8Array,
  ReflectApply,
  StringOf,
  setFromBase64,
  toBase64,
} from "./primordials.ts";

/** Spread over the stack before each `emit`: 4096 slots of 8 bytes, so that the writer cannot overflow. */
const STACK_RESERVE: unknown[] = [];
STACK_RESERVE.length = 4096;
STACK_RESERVE.fill(0);
const touchStack = () => {};

export interface Span {
  bytes: Uint8Array;
  at: number;
  length: number;
}

let emit: (text: string) => string | undefined;
let ended = false;

export function connect(writer: (text: string) => string | undefined): void {
  emit = writer;
}

/** @throws RangeError of this realm if too little stack is left */
function send(text: string): string | undefined {
  ReflectApply(touchStack, undefined, STACK_RESERVE);
  return emit(text);
}

export function hasEnded(): boolean {
  return ended;
}

/** JSON.stringify does not look up `toJSON` on strings, so this calls no script code. */
export function quote(text: string): string {
  return JSONStringify(text);
}

/** `params` must be complete JSON text. */
export function sendNotification(method: "stdout" | "stderr" | "output", params: string): void {
  if (!ended) send(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`);
}

/** `params` must be complete JSON text of a RunWarning. */
export function sendWarning(params: string): void {
  if (!ended) send(`{"jsonrpc":"2.0","method":"warning","params":${params}}`);
}

export function callText(id: number, method: string, params: string): string {
  return `{"jsonrpc":"2.0","id":${StringOf(id)},"method":"${method}","params":${params}}`;
}

export function sendCall(text: string): void {
  if (!ended) send(text);
}

export function sendCancel(id: number): void {
  if (!ended) send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":${StringOf(id)}}}`);
}

/** Like `sendCall`, with bytes, which are sent as base64 pieces before the message. */
export function sendCallWith(text: string, { bytes, at, length }: Span): void {
  if (ended) return;
  const { buffer, byteOffset } = bytes;
  // Throws if the script's array no longer has these bytes.
  const source = new RealmUint8Array(buffer as ArrayBuffer, byteOffset + at, length);
  send(`{"method":"attach","params":{"bytes":${StringOf(length)}}}`);
  for (let done = 0; done < length; done += ENCODED_BYTES) {
    const left = length - done;
    const count = left < ENCODED_BYTES ? left : ENCODED_BYTES;
    send(toBase64(new RealmUint8Array(source.buffer, source.byteOffset + done, count)));
  }
  send(text);
}

/** Copies the bytes attached to the message being received into `span`, as many as fit. */
export function takeAttached({ bytes, at, length }: Span, attachedBytes: number): void {
  const count = attachedBytes < length ? attachedBytes : length;
  for (let done = 0; done < count; done += ENCODED_BYTES) {
    const piece = send(`{"method":"take","params":{"at":${StringOf(done)}}}`);
    if (piece === undefined) return;
    const room = new RealmUint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset + at + done, count - done);
    setFromBase64(room, piece);
  }
}

/** Waits for the reply to a call. Returns its text, or undefined if the embedder cannot wait now. */
export function awaitReply(id: number): string | undefined {
  return send(`{"method":"wait","params":{"id":${StringOf(id)}}}`);
}

/** Sends the last message. Later ones of this realm are dropped. */
export function sendEnd(params: string, droppedWarnings: number): void {
  if (ended) return;
  if (droppedWarnings > 0) {
    send(`{"jsonrpc":"2.0","method":"warningsDropped","params":{"count":${StringOf(droppedWarnings)}}}`);
  }
  send(`{"jsonrpc":"2.0","method":"end","params":${params}}`);
  ended = true;
}

/** Reports that the run is paused. `journal` is complete JSON text. */
export function sendPaused(journal: string): void {
  if (!ended) send(`{"jsonrpc":"2.0","method":"paused","params":{"journal":${journal}}}`);
}

export function sendDiverged(what: string): void {
  if (!ended) send(`{"jsonrpc":"2.0","method":"diverged","params":{"what":${quote(what)}}}`);
}

/** `calls` is complete JSON text. */
export function sendWaiting(calls: string): void {
  if (!ended) send(`{"jsonrpc":"2.0","method":"waiting","params":{"calls":${calls}}}`);
}

export function sendLive(): void {
  if (!ended) send('{"jsonrpc":"2.0","method":"live","params":{}}');
}

export function sendTimer(id: number, ms: number): void {
  if (!ended) send(`{"method":"timer","params":{"id":${StringOf(id)},"ms":${StringOf(ms)}}}`);
}

export function sendClear(id: number): void {
  if (!ended) send(`{"method":"clear","params":{"id":${StringOf(id)}}}`);
}
