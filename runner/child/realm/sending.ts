/**
 * The realm's only way out: whole messages as text. Nothing here may call a function a script can replace, and
 * `emit` must never be stored anywhere but in this closure.
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

/** Values spread over the stack before each `emit`: 4096 slots of 8 bytes, so that the writer cannot overflow. */
const STACK_RESERVE: unknown[] = [];
STACK_RESERVE.length = 4096;
STACK_RESERVE.fill(0);
const touchStack = () => {};

/** A range of bytes of the realm or of the script. */
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

/** @throws RangeError of this realm when too little stack is left. */
function send(text: string): string | undefined {
  ReflectApply(touchStack, undefined, STACK_RESERVE);
  return emit(text);
}

export function hasEnded(): boolean {
  return ended;
}

/** Strings are not looked up for `toJSON`, so this calls no code of a script. */
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

/** Of a call that was sent. */
export function sendCancel(id: number): void {
  if (!ended) send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":${StringOf(id)}}}`);
}

/** As `sendCall`, with bytes: pieces of base64 that go before the message. */
export function sendCallWith(text: string, { bytes, at, length }: Span): void {
  if (ended) return;
  const { buffer, byteOffset } = bytes;
  // Throws where the script's array has no such bytes any more.
  const source = new RealmUint8Array(buffer as ArrayBuffer, byteOffset + at, length);
  send(`{"method":"attach","params":{"bytes":${StringOf(length)}}}`);
  for (let done = 0; done < length; done += ENCODED_BYTES) {
    const left = length - done;
    const count = left < ENCODED_BYTES ? left : ENCODED_BYTES;
    send(toBase64(new RealmUint8Array(source.buffer, source.byteOffset + done, count)));
  }
  send(text);
}

/** Puts the first bytes that came with the message being received into `span`, as many as there is room for. */
export function takeAttached({ bytes, at, length }: Span, attachedBytes: number): void {
  const count = attachedBytes < length ? attachedBytes : length;
  for (let done = 0; done < count; done += ENCODED_BYTES) {
    const piece = send(`{"method":"take","params":{"at":${StringOf(done)}}}`);
    if (piece === undefined) return;
    const room = new RealmUint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset + at + done, count - done);
    setFromBase64(room, piece);
  }
}

/** The text of the reply to a call that was sent, waited for; undefined where the embedder cannot wait now. */
export function awaitReply(id: number): string | undefined {
  return send(`{"method":"wait","params":{"id":${StringOf(id)}}}`);
}

/** The last message: later ones of this realm are dropped. */
export function sendEnd(params: string, droppedWarnings: number): void {
  if (ended) return;
  if (droppedWarnings > 0) {
    send(`{"jsonrpc":"2.0","method":"warningsDropped","params":{"count":${StringOf(droppedWarnings)}}}`);
  }
  send(`{"jsonrpc":"2.0","method":"end","params":${params}}`);
  ended = true;
}

/** The run is frozen; `journal` is complete JSON text. */
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

/** Replay has caught up. */
export function sendLive(): void {
  if (!ended) send('{"jsonrpc":"2.0","method":"live","params":{}}');
}

export function sendTimer(id: number, ms: number): void {
  if (!ended) send(`{"method":"timer","params":{"id":${StringOf(id)},"ms":${StringOf(ms)}}}`);
}

export function sendClear(id: number): void {
  if (!ended) send(`{"method":"clear","params":{"id":${StringOf(id)}}}`);
}
