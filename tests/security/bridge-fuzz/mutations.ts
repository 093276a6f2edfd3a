/** How a message is spoilt: at any place of its document, as text, as bytes, or in its frame. */
import { announce } from "./frame.ts";
import type { Prng } from "./prng.ts";
import { hostileKey, type Json, randomReplacement, raw, render } from "./wire-json.ts";

type ObjectJson = Json & { kind: "object" };

/** Every object of a document, outermost first. */
function listObjects(document: Json, found: ObjectJson[] = []): ObjectJson[] {
  if (document.kind === "object") {
    found.push(document);
    for (const [, value] of document.members) listObjects(value, found);
  } else if (document.kind === "array") for (const item of document.items) listObjects(item, found);
  return found;
}

const DOCUMENT_OPERATIONS = {
  replace: 6,
  remove: 2,
  duplicate: 2,
  add: 2,
  rename: 2,
  reorder: 1,
  wrap: 0.5,
} as const;

/** Changes one place of `document`, in place. Answers what was done. */
export function mutateDocument(prng: Prng, document: Json): string {
  const place = prng.pick(listObjects(document));
  const operation = prng.weighted(DOCUMENT_OPERATIONS);
  const index = place.members.length === 0 ? -1 : prng.int(place.members.length);
  const member = place.members[index];
  if (member === undefined || operation === "add") {
    place.members.push([hostileKey(prng), randomReplacement(prng)]);
    return "add";
  }
  switch (operation) {
    case "replace":
      member[1] = randomReplacement(prng);
      break;
    case "remove":
      place.members.splice(index, 1);
      break;
    case "duplicate":
      place.members.splice(prng.int(place.members.length + 1), 0, [member[0], randomReplacement(prng)]);
      break;
    case "rename":
      member[0] = prng.chance(0.5) ? hostileKey(prng) : member[0].toUpperCase();
      break;
    case "reorder":
      place.members.reverse();
      break;
    case "wrap":
      member[1] = { kind: "array", items: [member[1]] };
      break;
  }
  return `${operation} ${member[0].slice(0, 20)}`;
}

const BROKEN_UTF8 = [
  [0xff],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf5, 0x80, 0x80, 0x80],
  [0xe2, 0x82],
  [0x80],
  [0xfe, 0xff],
];

const BYTE_OPERATIONS = {
  flip: 3,
  cut: 2,
  utf8: 3,
  bom: 1,
  space: 1,
  twice: 1,
  insert: 2,
  empty: 0.5,
} as const;

/** Changes the bytes of a payload. Answers what was done and the new bytes. */
export function mutateBytes(prng: Prng, payload: Buffer): [string, Buffer] {
  const operation = prng.weighted(BYTE_OPERATIONS);
  const at = prng.int(payload.length + 1);
  const splice = (bytes: Uint8Array, skip = 0) =>
    Buffer.concat([payload.subarray(0, at), bytes, payload.subarray(at + skip)]);
  switch (operation) {
    case "flip": {
      const changed = Buffer.from(payload);
      for (let n = prng.between(1, 4); n > 0; n--) changed[prng.int(changed.length)] = prng.int(256);
      return [operation, changed];
    }
    case "cut":
      return [operation, payload.subarray(0, at)];
    case "utf8":
      return [operation, splice(Buffer.from(prng.pick(BROKEN_UTF8)))];
    case "bom":
      return [operation, Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), payload])];
    case "space":
      return [
        operation,
        splice(Buffer.from(prng.pick([" ", "\n", "\t", "\0", "\u00a0"]).repeat(prng.between(1, 9)))),
      ];
    case "twice":
      return [operation, Buffer.concat([payload, payload])];
    case "insert":
      return [operation, splice(Buffer.from(render(randomReplacement(prng))))];
    case "empty":
      return [operation, Buffer.alloc(0)];
  }
}

const FRAME_OPERATIONS = {
  longer: 2,
  shorter: 2,
  zero: 1,
  huge: 2,
  negative: 1,
  little: 1,
  headerOnly: 1,
  junk: 2,
  attached: 3,
} as const;

/** A frame that lies about its length, or is none. Answers what was done and the bytes. */
export function lieAboutLength(prng: Prng, payload: Buffer, maxFrameBytes: number): [string, Buffer] {
  const operation = prng.weighted(FRAME_OPERATIONS);
  const withLength = (length: number, body: Uint8Array = payload) => {
    const header = Buffer.alloc(4);
    header.writeUInt32BE(length >>> 0);
    return Buffer.concat([header, body]);
  };
  switch (operation) {
    case "longer":
      return [operation, withLength(payload.length + prng.between(1, 200))];
    case "shorter":
      return [operation, withLength(prng.int(Math.max(1, payload.length)))];
    case "zero":
      return [operation, withLength(0)];
    case "huge":
      return [operation, withLength(prng.pick([maxFrameBytes, maxFrameBytes + 1, 0x7fffffff, 0xfffffffe]))];
    case "negative":
      return [operation, withLength(0xffffffff)];
    case "little": {
      const header = Buffer.alloc(4);
      header.writeUInt32LE(payload.length);
      return [operation, Buffer.concat([header, payload])];
    }
    case "attached": {
      const lengths = [0, 1, 2, 5_000, 262_144, 262_145, 0x7fffffff, 0xffffffff];
      const body = Buffer.alloc(prng.pick([0, 1, 300]), prng.int(256));
      return [operation, Buffer.concat([announce(payload.length, prng.pick(lengths)), payload, body])];
    }
    case "headerOnly":
      return [operation, withLength(payload.length).subarray(0, prng.between(1, 4))];
    case "junk":
      return [operation, Buffer.from(Array.from({ length: prng.between(1, 64) }, () => prng.int(256)))];
  }
}

/** Cuts JSON text off or puts something behind it, as text. */
export function mutateText(prng: Prng, text: string): string {
  return prng.chance(0.5)
    ? text.slice(0, prng.int(text.length + 1))
    : text + render(prng.chance(0.5) ? raw("}") : randomReplacement(prng));
}
