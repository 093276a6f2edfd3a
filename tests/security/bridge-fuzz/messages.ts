/** The messages a well-behaved child sends, as documents that can still be spoilt. */
import type { CallMethod } from "#runner/protocol.ts";
import type { Prng } from "./prng.ts";
import { type Json, json, object, randomJson, randomObject, randomString, raw } from "./wire-json.ts";

export type MessageKind = "stdout" | "stderr" | "output" | "call" | "end" | "failure";

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
    object({ serviceId: identifier(prng), toolId: identifier(prng), parameters: randomObject(prng) }),
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
};
export const CALL_METHODS = Object.keys(CALL_PARAMS) as CallMethod[];

const VERSION: Record<string, Json> = { jsonrpc: raw('"2.0"') };
const notification = (method: string, params: Json): Json =>
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
      return object({ ...VERSION, id: json(id), method: json(method), params: CALL_PARAMS[method](prng) });
    }
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
        object({ ok: raw("false"), reason: json(prng.pick(["script_error", "output_limit"])), error }),
      );
    }
  }
}

/** What a child says once it has booted. */
export const READY = notification(
  "ready",
  object({ protocol: raw("1"), node: json(process.version), layers: raw("[0,1]"), codeCache: raw("true") }),
);
const INVOKE = object({ serviceId: json("s"), toolId: json("t"), parameters: raw("{}") });
const call = (members: Record<string, Json>): Json =>
  object({ ...VERSION, method: json("invoke"), params: INVOKE, ...members });

/** Messages that must end the run whatever came before, each with its name. */
export const FATAL_MESSAGES: readonly [name: string, message: Json][] = [
  ["a second ready", READY],
  ["an unknown method", notification("boot", raw("{}"))],
  ["a method of Object.prototype", notification("toString", raw("{}"))],
  ["the method __proto__", notification("__proto__", raw("{}"))],
  ["a timer for the embedder", object({ method: json("timer"), params: raw('{"id":1,"ms":1}') })],
  ["a start of its own", notification("start", raw("{}"))],
  ["a reply", object({ ...VERSION, id: raw("1"), result: raw("1") })],
  ["an error reply", object({ ...VERSION, id: raw("1"), error: raw('{"code":1,"message":"m"}') })],
  ["no version", object({ method: json("stdout"), params: raw('{"text":"a"}') })],
  ["version 1.0", object({ jsonrpc: raw('"1.0"'), method: json("stdout"), params: raw('{"text":"a"}') })],
  ["a batch", raw('[{"jsonrpc":"2.0","method":"stdout","params":{"text":"a"}}]')],
  ["a number", raw("1")],
  ["null", raw("null")],
  ["a string", raw('"end"')],
  ["id 0", call({ id: raw("0") })],
  ["a negative id", call({ id: raw("-1") })],
  ["a fractional id", call({ id: raw("1.5") })],
  ["a huge id", call({ id: raw("1e999") })],
  ["an id over the limit", call({ id: raw("1000000001") })],
  ["an id that is text", call({ id: json("1") })],
  ["an id that is null", call({ id: raw("null") })],
  ["no id", call({})],
  ["an execution of its choice", call({ id: raw("999999999"), eid: raw("7") })],
  ["positional params", call({ id: raw("999999999"), params: raw('["s","t",{}]') })],
  ["text that is a number", notification("stdout", raw('{"text":1}'))],
  ["output that is a list", notification("output", raw('{"value":[1]}'))],
  ["output beside value", notification("output", raw('{"value":{},"eid":1}'))],
  ["an end without outcome", notification("end", raw("{}"))],
  [
    "an end that is both",
    notification("end", raw('{"ok":true,"error":{"name":"a","message":"b","stack":"c"}}')),
  ],
  [
    "an end for a reason of the host",
    notification(
      "end",
      raw('{"ok":false,"reason":"timeout","error":{"name":"a","message":"b","stack":"c"}}'),
    ),
  ],
  [
    "an end at line 0",
    notification(
      "end",
      raw('{"ok":false,"reason":"script_error","error":{"name":"a","message":"b","stack":"c","line":0}}'),
    ),
  ],
];
