/** Paths within a value, and errors that name the value found there and what to write instead. */

import { own, RealmTypeError, regExpExec } from "../primordials.ts";
import { quote } from "../sending.ts";

/** One step of a path from the root value, used for messages and to detect cycles. */
export interface Step {
  value: object;
  key: string;
  parent: Step | null;
  depth: number;
  isList: boolean;
}

/** Advice for objects whose state JSON does not see. */
export const INSTEAD = {
  __proto__: null,
  Response: "write `await response.json()` or `await response.text()`",
  Request: "write `await request.json()` or `await request.text()`",
  Blob: "write `await blob.text()`, or `await blob.bytes()` for its bytes",
  File: "write `await file.text()`, or `await file.bytes()` for its bytes",
  ReadableStream: "read it first, e.g. `await new Response(stream).text()`",
  WritableStream: "write what it holds instead",
  TransformStream: "read it first, e.g. `await new Response(stream.readable).text()`",
  Headers: "write `Object.fromEntries(headers)`",
  FormData: "write `Object.fromEntries(form)`",
  URLSearchParams: "write `Object.fromEntries(params)` or `String(params)`",
  RegExp: "write `String(pattern)`",
  DataView: "write `new Uint8Array(view.buffer, view.byteOffset, view.byteLength)`",
  AsyncGenerator: "write `await Array.fromAsync(generator)`",
};

export function stateError(name: string, value: object, tag: string, step: Step): TypeError {
  const kind = tag === "" ? readText((value as { constructor?: unknown }).constructor, "name") : tag;
  const instead = own(INSTEAD, kind) as string | undefined;
  const found = kind === "" ? "an object" : `${regExpExec(VOWEL, kind) === null ? "a" : "an"} ${kind}`;
  const problem = instead ?? "write the values it holds, or give its class a toJSON()";
  return valueError(name, step.key, step.parent, `is ${found}, of which JSON keeps nothing: ${problem}`);
}

export function promiseError(name: string, { key, parent }: Step): TypeError {
  const instead = parent?.isList === true ? "use `await Promise.all(…)`" : "put `await` in front of it";
  return valueError(name, key, parent, `is a promise that was not awaited: ${instead}`);
}

export function valueError(name: string, key: string, parent: Step | null, problem: string): TypeError {
  return new RealmTypeError(`${describePath(name, key, parent)} ${problem}`);
}

const IDENTIFIER = /^[A-Za-z_$][\w$]{0,60}$/;
const VOWEL = /^[AEIOU](?!R[A-Z])/;

export function readText(value: unknown, key: string | symbol): string {
  const text =
    value === null || value === undefined ? undefined : (value as Record<string | symbol, unknown>)[key];
  return typeof text === "string" && regExpExec(IDENTIFIER, text) !== null ? text : "";
}

export function describePath(name: string, key: string, parent: Step | null): string {
  let path = "";
  let last = key;
  for (let step = parent; step !== null; step = step.parent) {
    if (step.isList) path = `[${last}]${path}`;
    else if (regExpExec(IDENTIFIER, last) !== null) path = `.${last}${path}`;
    else path = `[${quote(last.length > 60 ? "…" : last)}]${path}`;
    last = step.key;
  }
  return name + path;
}
