/** The messages a well-behaved child sends, as documents that can still be spoilt. */
import { type CallMethod, PROTOCOL_LIMITS, PROTOCOL_VERSION } from "#runner/wire/protocol.ts";
import type { Prng } from "./prng.ts";
import { type Json, json, object, randomJson, randomObject, randomString, raw } from "./wire-json.ts";

export type MessageKind = "stdout" | "stderr" | "output" | "call" | "cancel" | "end" | "failure";

const identifier = (prng: Prng) =>
  json(prng.pick(["s", "test", "a".repeat(500), "é€", "__proto__", "\u0000", "x y"]));
const maybe = (prng: Prng, key: string, value: Json): Record<string, Json> =>
  prng.chance(0.5) ? { [key]: value } : {};
const query = (prng: Prng) => ({
  ...maybe(prng, "query", json("q".repeat(prng.pick([0, 1, 1000])))),
  ...maybe(prng, "limit", json(prng.pick([1, 50, 200]))),
});
const toolId = (prng: Prng) => object({ serviceId: identifier(prng), toolId: identifier(prng) });

const CALL_PARAMS: Record<CallMethod, (prng: Prng) => Json> = {
  invoke: (prng) =>
    object({
      serviceId: identifier(prng),
      toolId: identifier(prng),
      parameters: randomObject(prng),
      ...maybe(prng, "saveAs", identifier(prng)),
    }),
  discoverServices: (prng) => object(query(prng)),
  discoverTools: (prng) => object({ ...query(prng), ...maybe(prng, "serviceId", identifier(prng)) }),
  getService: (prng) => object({ id: identifier(prng) }),
  getTool: toolId,
  getToolDocs: toolId,
  ask: (prng) =>
    object({
      message: json("m".repeat(prng.pick([1, 10, 10_000]))),
      ...maybe(prng, "schema", randomObject(prng)),
    }),
  readFile: (prng) =>
    object({
      name: identifier(prng),
      offset: json(prng.pick([0, 1, 2 ** 53 - 1])),
      length: json(prng.pick([1, 262_144])),
      ...maybe(prng, "asText", raw("true")),
    }),
  writeFile: (prng) =>
    object({
      name: identifier(prng),
      write: json(prng.pick([1, 2, 1_000_000])),
      mode: json(prng.pick(["replace", "append", "patch", "discard"])),
      ...maybe(prng, "at", json(prng.pick([0, 1, 2 ** 53 - 1]))),
      ...maybe(prng, "more", raw("true")),
      ...maybe(prng, "text", raw(randomString(prng))),
    }),
  removeFile: (prng) => object({ name: identifier(prng) }),
  copyFile: (prng) =>
    object({ name: identifier(prng), to: identifier(prng), ...maybe(prng, "moves", raw("true")) }),
  resizeFile: (prng) => object({ name: identifier(prng), size: json(prng.pick([0, 1, 2 ** 53 - 1])) }),
  readBody: (prng) => object({ call: json(prng.pick([1, 2, 1_000_000])) }),
};

/**
 * A call about one of few files, in few writes, so that calls meet: pieces of a write that is over, of two names or of none, an
 * append to what is removed, an answer saved over what is being written.
 */
export function createFileCall(prng: Prng, id: number, names: readonly string[]): Json {
  const name = json(prng.pick(names));
  const method = prng.weighted({ readFile: 3, writeFile: 6, removeFile: 1, invoke: 1 });
  const params = {
    readFile: () => ({
      name,
      offset: json(prng.pick([0, 0, 1, 999, 299_999, 300_000, 2 ** 53 - 1])),
      length: json(prng.pick([1, 7, 1_000, 262_144])),
      ...maybe(prng, "asText", raw("true")),
    }),
    writeFile: () => ({
      name,
      write: json(prng.pick([1, 2, 3, id, id, 2 ** 53 - 1])),
      mode: json(prng.pick(["replace", "append"])),
      ...maybe(prng, "more", raw("true")),
      ...maybe(prng, "text", raw(randomString(prng))),
    }),
    removeFile: () => ({ name }),
    invoke: () => ({ serviceId: json("test"), toolId: json("echo"), parameters: object({}), saveAs: name }),
  }[method]();
  return call(id, method, object(params));
}

const call = (id: number, method: CallMethod, params: Json): Json =>
  object({ ...VERSION, id: json(id), method: json(method), params });

export const createToolCall = (id: number): Json =>
  call(id, "invoke", object({ serviceId: json("test"), toolId: json("echo"), parameters: object({}) }));

export const createBodyRead = (id: number, of: number): Json =>
  call(id, "readBody", object({ call: json(of) }));

export const CALL_METHODS = Object.keys(CALL_PARAMS) as CallMethod[];

export const VERSION: Record<string, Json> = { jsonrpc: raw('"2.0"') };
export const notification = (method: string, params: Json): Json =>
  object({ ...VERSION, method: json(method), params });

/** A valid message of `kind`; a call takes the id given to it. */
export function createMessage(prng: Prng, kind: MessageKind, id: number): Json {
  switch (kind) {
    case "stdout":
    case "stderr":
      return notification(kind, object({ text: raw(randomString(prng)) }));
    case "output":
      return notification(kind, object({ value: randomObject(prng) }));
    case "call": {
      const method = prng.chance(0.6) ? "invoke" : prng.pick(CALL_METHODS);
      return call(id, method, CALL_PARAMS[method](prng));
    }
    case "cancel":
      return notification("cancel", object({ id: json(id) }));
    case "end":
      return notification("end", object({ ok: raw("true"), ...maybe(prng, "result", randomJson(prng, 5)) }));
    case "failure": {
      const place: Record<string, Json> = prng.chance(0.5)
        ? { line: json(prng.between(1, 99)), column: raw("1") }
        : {};
      const error = object({
        name: json("Error"),
        message: raw(randomString(prng)),
        stack: json("at x"),
        ...place,
      });
      return notification(
        "end",
        object({
          ok: raw("false"),
          reason: json(prng.pick(["script_error", "unhandled_rejection", "output_limit"])),
          error,
        }),
      );
    }
  }
}

const MAX_ATTACHMENT_BYTES = PROTOCOL_LIMITS.maxFilePieceBytes;

/** Bytes for a message that may carry some, most often; else null. */
export function createAttachment(prng: Prng, text: string): Buffer | null {
  const mayCarry = text.includes('"method":"writeFile"') && !text.includes('"text":');
  if (!mayCarry || !prng.chance(0.8)) return null;
  return Buffer.alloc(prng.pick([1, 2, 7, 1_000, 70_000, MAX_ATTACHMENT_BYTES]), prng.int(256));
}

/** What a child says before it is given a script. */
export const BOOTED = notification(
  "booted",
  object({ protocol: raw(`${PROTOCOL_VERSION}`), node: json(process.version) }),
);
export const READY = notification("ready", object({ layers: raw("[0,1]"), codeCache: raw("true") }));
