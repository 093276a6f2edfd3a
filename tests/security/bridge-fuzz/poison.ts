/** Frames that must end the run whatever came before, each wrong in one way and right in every other. */
import type { ChannelLimits } from "#runner/wire/channel.ts";
import { PROTOCOL_LIMITS } from "#runner/wire/protocol.ts";
import { announce, frame, type Step, toStep } from "./frame.ts";
import { BOOTED, createMessage, notification, READY, VERSION } from "./messages.ts";
import type { Prng } from "./prng.ts";
import { type Json, json, nestExactly, object, raw, render } from "./wire-json.ts";

const INVOKE = object({ serviceId: json("s"), toolId: json("t"), parameters: raw("{}") });
const call = (members: Record<string, Json>): Json =>
  object({ ...VERSION, method: json("invoke"), params: INVOKE, ...members });

/** Messages that must end the run whatever came before, each with its name. */
const FATAL_MESSAGES: readonly [name: string, message: Json][] = [
  ["a second booted", BOOTED],
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
  ["text beside text", notification("stdout", raw('{"text":"a","eid":1}'))],
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

/** Messages that are right, but for the bytes that come with them. */
const ATTACHED_TO_OTHER: readonly [name: string, message: Json][] = [
  ["stdout", notification("stdout", raw('{"text":"a"}'))],
  ["output", notification("output", raw('{"value":{}}'))],
  ["an end", notification("end", raw('{"ok":true}'))],
  ["a tool call", call({ id: raw("900000000") })],
  [
    "a read",
    object({
      ...VERSION,
      id: raw("900000000"),
      method: json("readFile"),
      params: raw('{"name":"a","offset":0,"length":1}'),
    }),
  ],
  [
    "text that is written",
    object({
      ...VERSION,
      id: raw("900000000"),
      method: json("writeFile"),
      params: raw('{"name":"a","write":1,"mode":"replace","text":"a"}'),
    }),
  ],
];

const BROKEN_TEXT = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0x80]];
const NOT_JSON = ["{", "NaN", "{'a':1}", '{"a":01}', "[1,]", '"\n"', "undefined", ""];
const POISONS = {
  message: 8,
  utf8: 1,
  bom: 0.5,
  deepOutput: 1,
  deepResult: 1,
  deepCall: 1,
  bomb: 0.5,
  empty: 1,
  announced: 1,
  attachmentAnnounced: 1,
  attachedToOther: 1.5,
  notJson: 1,
  staleId: 1,
  large: 0.1,
} as const;

/** One such frame. `lastId`: of the last call made before, 0 for none. */
export function createPoison(prng: Prng, channel: ChannelLimits, lastId: number): Step {
  const kind = prng.weighted({ ...POISONS, staleId: lastId > 0 ? 1 : 0 });
  const depth = PROTOCOL_LIMITS.maxDepth;
  switch (kind) {
    case "message": {
      const [text, message] = prng.pick(FATAL_MESSAGES);
      return { ...toStep(message), text };
    }
    case "utf8": {
      const [before, after] = render(notification("stdout", raw('{"text":"#"}'))).split("#") as [
        string,
        string,
      ];
      const bytes = Buffer.concat([
        Buffer.from(before),
        Buffer.from(prng.pick(BROKEN_TEXT)),
        Buffer.from(after),
      ]);
      return { text: kind, bytes: frame(bytes) };
    }
    case "bom":
      return { text: kind, bytes: frame(Buffer.from(`\ufeff${render(createMessage(prng, "stdout", 0))}`)) };
    case "deepOutput":
      return {
        ...toStep(notification("output", object({ value: raw(nestExactly(depth + 1)) }))),
        text: kind,
      };
    case "deepCall":
      return {
        ...toStep(
          call({
            id: raw("900000000"),
            params: object({
              serviceId: json("s"),
              toolId: json("t"),
              parameters: raw(nestExactly(depth + 1)),
            }),
          }),
        ),
        text: kind,
      };
    case "deepResult":
      return {
        ...toStep(
          notification(
            "end",
            object({ ok: raw("true"), result: raw(nestExactly(PROTOCOL_LIMITS.maxResultDepth + 1)) }),
          ),
        ),
        text: kind,
      };
    case "bomb":
      return { text: kind, bytes: frame(Buffer.from("[".repeat(prng.pick([5_000, 400_000])))) };
    case "empty":
      return { text: kind, bytes: Buffer.alloc(4) };
    case "announced": {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(prng.pick([channel.maxFrameBytes + 1, 0x7fffffff, 0xffffffff]));
      return { text: kind, bytes };
    }
    case "attachmentAnnounced": {
      const bytes = prng.pick([0, channel.maxAttachmentBytes + 1, 0x7fffffff, 0xffffffff]);
      return { text: kind, bytes: announce(prng.pick([1, 100]), bytes) };
    }
    case "attachedToOther": {
      const [text, message] = prng.pick(ATTACHED_TO_OTHER);
      const bytes = frame(Buffer.from(render(message)), Buffer.alloc(prng.pick([1, 70_000]), "{"));
      return { text: `bytes beside ${text}`, bytes };
    }
    case "notJson":
      return { text: kind, bytes: frame(Buffer.from(prng.pick(NOT_JSON))) };
    case "staleId":
      return { ...toStep(call({ id: json(prng.pick([lastId, lastId - 1, 1])) })), text: kind };
    case "large":
      return {
        ...toStep(
          notification("stdout", object({ text: json("x".repeat(PROTOCOL_LIMITS.maxMessageBytes)) })),
        ),
        text: kind,
      };
  }
}
