/**
 * The realm's only way out: whole messages as text. Nothing here may call a function a script can replace, and
 * `emit` must never be stored anywhere but in this closure.
 */
import { JSONStringify, ReflectApply, StringOf } from "./primordials.ts";

/** Values spread over the stack before each `emit`: 4096 slots of 8 bytes, so that the writer cannot overflow. */
const STACK_RESERVE: unknown[] = [];
STACK_RESERVE.length = 4096;
STACK_RESERVE.fill(0);
const touchStack = () => {};

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

export function callText(id: number, method: string, params: string): string {
  return `{"jsonrpc":"2.0","id":${StringOf(id)},"method":"${method}","params":${params}}`;
}

export function sendCall(text: string): void {
  if (!ended) send(text);
}

/** The text of the reply to a call that was sent, waited for; undefined where the embedder cannot wait now. */
export function awaitReply(id: number): string | undefined {
  return send(`{"method":"wait","params":{"id":${StringOf(id)}}}`);
}

/** The last message: later ones of this realm are dropped. */
export function sendEnd(params: string): void {
  if (ended) return;
  send(`{"jsonrpc":"2.0","method":"end","params":${params}}`);
  ended = true;
}

/** The run is frozen; `journal` is complete JSON text. */
export function sendPaused(journal: string): void {
  if (!ended) send(`{"jsonrpc":"2.0","method":"paused","params":{"journal":${journal}}}`);
}

/** A run that is repeated does something else. */
export function sendDiverged(what: string): void {
  if (!ended) send(`{"jsonrpc":"2.0","method":"diverged","params":{"what":${quote(what)}}}`);
}

/** A repeated run has come to where it was. */
export function sendLive(): void {
  if (!ended) send('{"jsonrpc":"2.0","method":"live","params":{}}');
}

export function sendTimer(id: number, ms: number): void {
  if (!ended) send(`{"method":"timer","params":{"id":${StringOf(id)},"ms":${StringOf(ms)}}}`);
}

export function sendClear(id: number): void {
  if (!ended) send(`{"method":"clear","params":{"id":${StringOf(id)}}}`);
}
