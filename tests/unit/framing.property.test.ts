import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { measureDepth } from "#kernel/json-depth.ts";
import {
  createFrameReader,
  encodeFrame,
  encodeFrameText,
  FRAME_HEADER_BYTES,
  FrameError,
  parseFrame,
} from "#runner/wire/frames.ts";

const MAX_FRAME_BYTES = 256 * 1024;
const MAX_ATTACHMENT_BYTES = 300;
const MAX_DEPTH = 50;

/** Cuts bytes into chunks of the given sizes; what is left is the last chunk. */
function cut(bytes: Buffer, sizes: number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    if (at >= bytes.length) break;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  if (at < bytes.length) chunks.push(bytes.subarray(at));
  return chunks;
}

function readAll(chunks: Buffer[]): unknown[] {
  const reader = createFrameReader(MAX_FRAME_BYTES);
  const values: unknown[] = [];
  for (const chunk of chunks) {
    reader.push(chunk);
    for (let payload = reader.next(); payload !== null; payload = reader.next()) {
      values.push(parseFrame(payload, MAX_DEPTH).value);
    }
  }
  return values;
}

const message = fc.jsonValue({ maxDepth: 8 });
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 400 });

describe("frames", () => {
  test("any way of cutting the stream gives the same messages", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), sizes, (messages, cuts) => {
        const bytes = Buffer.concat(messages.map(encodeFrame));
        // -0 is 0 in JSON.
        expect(readAll(cut(bytes, cuts))).toEqual(messages.map((value) => JSON.parse(JSON.stringify(value))));
      }),
    );
  });

  test("a large frame in small pieces arrives whole, and takes no more memory than it has bytes", () => {
    const text = "x".repeat(200_000);
    const bytes = encodeFrame(text);
    const reader = createFrameReader(MAX_FRAME_BYTES);
    let whole: Buffer | null = null;
    for (const chunk of cut(bytes, new Array(5000).fill(41))) {
      reader.push(chunk);
      whole = reader.next();
      expect(reader.bufferedBytes).toBeLessThanOrEqual(bytes.length);
    }
    expect(whole?.buffer.byteLength).toBeLessThanOrEqual(MAX_FRAME_BYTES);
    expect(JSON.parse(String(whole))).toBe(text);
  });

  test("an announced length costs nothing until bytes arrive, and over the limit it is refused before any does", () => {
    const announced = Buffer.alloc(FRAME_HEADER_BYTES);
    announced.writeUInt32BE(MAX_FRAME_BYTES);
    const reader = createFrameReader(MAX_FRAME_BYTES);
    reader.push(announced);
    expect(reader.next()).toBeNull();
    expect(reader.bufferedBytes).toBe(FRAME_HEADER_BYTES);

    fc.assert(
      fc.property(fc.integer({ min: MAX_FRAME_BYTES + 1, max: 0xffff_ffff }), (length) => {
        const header = Buffer.alloc(FRAME_HEADER_BYTES);
        header.writeUInt32BE(length);
        const strict = createFrameReader(MAX_FRAME_BYTES);
        strict.push(header);
        expect(() => strict.next()).toThrow(FrameError);
      }),
    );
  });

  test("bytes beside the JSON arrive as they were, however the stream is cut", () => {
    const attachment = fc.oneof(
      fc.constant(null),
      fc.uint8Array({ minLength: 1, maxLength: MAX_ATTACHMENT_BYTES }),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(message, attachment), { maxLength: 6 }), sizes, (sent, cuts) => {
        const bytes = sent.map(([value, attached]) =>
          Buffer.concat([
            encodeFrameText(JSON.stringify(value), attached?.length ?? 0),
            attached ?? Buffer.alloc(0),
          ]),
        );
        const reader = createFrameReader(MAX_FRAME_BYTES, MAX_ATTACHMENT_BYTES);
        const got: [unknown, number[] | null][] = [];
        for (const chunk of cut(Buffer.concat(bytes), cuts)) {
          reader.push(chunk);
          for (let json = reader.next(); json !== null; json = reader.next()) {
            got.push([JSON.parse(json.toString()), reader.attachment && [...reader.attachment]]);
          }
        }
        expect(got).toEqual(
          sent.map(([value, attached]) => [JSON.parse(JSON.stringify(value)), attached && [...attached]]),
        );
      }),
    );
  });

  test.each([0, MAX_ATTACHMENT_BYTES + 1, 0x7fff_ffff, 0xffff_ffff])(
    "an attachment of %i bytes is refused before any of its bytes arrive",
    (length) => {
      const header = Buffer.alloc(2 * FRAME_HEADER_BYTES);
      header.writeUInt32BE(0x8000_0002);
      header.writeUInt32BE(length, FRAME_HEADER_BYTES);
      const reader = createFrameReader(MAX_FRAME_BYTES, MAX_ATTACHMENT_BYTES);
      reader.push(header.subarray(0, 6));
      expect(reader.next()).toBeNull();
      reader.push(header.subarray(6));
      expect(() => reader.next()).toThrow(FrameError);
    },
  );

  test("random bytes are refused with a FrameError or waited on, never anything else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), sizes, (garbage, cuts) => {
        try {
          readAll(cut(Buffer.from(garbage), cuts));
        } catch (error) {
          expect(error).toBeInstanceOf(FrameError);
        }
      }),
    );
  });

  test("random payloads of a well-formed frame are refused with a FrameError or parsed", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 100 }), (garbage) => {
        try {
          parseFrame(Buffer.from(garbage), MAX_DEPTH);
        } catch (error) {
          expect(error).toMatchObject({ name: "FrameError", kind: "malformed" });
        }
      }),
    );
  });
});

describe("a payload", () => {
  test("measures as deep as it nests, whatever its strings hold", () => {
    const depthOf = (value: unknown): number =>
      typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
    const hostile = fc.string({ unit: fc.constantFrom("[", "]", "{", "}", '"', "\\", "a", "\u2028") });
    const nested = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        hostile,
        fc.array(tie("node"), { maxLength: 3 }),
        fc.dictionary(hostile, tie("node"), { maxKeys: 3 }),
      ),
    })).node;
    fc.assert(
      fc.property(nested, (value) => {
        expect(measureDepth(Buffer.from(JSON.stringify(value)), 1000)).toBe(depthOf(value));
      }),
    );
  });

  test("nested 1,000,000 deep is refused without being walked", () => {
    const deep = Buffer.from("[".repeat(1_000_000));
    expect(() => parseFrame(deep, 512)).toThrow("nested deeper than 512");
  });

  test("that is not UTF-8, starts with a byte order mark or is not JSON is refused", () => {
    for (const bytes of [
      [0x22, 0xc3, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0xef, 0xbb, 0xbf, 0x31],
      [0x7b],
      [0x31, 0x31, 0x20, 0x32],
    ]) {
      expect(() => parseFrame(Buffer.from(bytes), 10)).toThrow(FrameError);
    }
  });

  test("keeps its __proto__ keys as members, however they are spelt", () => {
    for (const key of ["__proto__", "\\u005f_proto__", "\\u005F\\u005fproto\\u005f_"]) {
      const { value } = parseFrame(Buffer.from(`{"a":{"${key}":{"polluted":true},"b":"__proto__"}}`), 10);
      const { a } = value as { a: { polluted?: unknown } };
      expect(JSON.stringify(a)).toBe('{"__proto__":{"polluted":true},"b":"__proto__"}');
      expect([Object.getPrototypeOf(a), a.polluted]).toEqual([Object.prototype, undefined]);
    }
  });
});
