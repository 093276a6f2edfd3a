import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cutAt, encodeJson, utf8Length } from "#runner/child/realm/json.ts";

const limits = { name: "result", maxDepth: 512, maxBytes: 1024 * 1024 };

describe("encoding a script's value", () => {
  test("gives what JSON.stringify gives, and its size in bytes", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: "binary" }), (value) => {
        const { text, bytes, tooLarge } = encodeJson(value, limits);
        expect(text).toBe(JSON.stringify(value));
        expect(bytes).toBe(Buffer.byteLength(text ?? ""));
        expect(tooLarge).toBe(false);
      }),
    );
  });

  test("follows JSON.stringify for what is not plain data", () => {
    for (const value of [
      undefined,
      { a: undefined, b: 1, c: undefined },
      [undefined, Number.NaN, -0, Number.POSITIVE_INFINITY],
      new Date(0),
      { toJSON: () => ({ nested: new Date(1) }) },
      { toJSON: () => undefined },
      [{ toJSON: () => undefined }],
      [new Number(1), new String("s"), new Boolean(true)],
      new Map([[1, 2]]),
      new Uint8Array([1, 2]),
      Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true }, hidden: { value: 1 } }),
      JSON.parse('{"__proto__": 1}'),
      "\ud800",
    ]) {
      expect(encodeJson(value, limits).text).toBe(JSON.stringify(value));
    }
  });

  test("measures what is too large without building it", () => {
    const { text, bytes, tooLarge } = encodeJson(["€".repeat(1000)], { ...limits, maxBytes: 2000 });
    expect([text, bytes, tooLarge]).toEqual([undefined, 3004, true]);
    expect(encodeJson(new Array(1e7), { ...limits, maxBytes: 100 }).tooLarge).toBe(true);
  });

  test("names the place of what JSON cannot hold", () => {
    const cyclic: unknown[] = [];
    cyclic.push({ deep: cyclic });
    for (const [value, message] of [
      [{ a: [{ "b c": 1n }] }, 'result.a[0]["b c"] is a bigint'],
      [Symbol("s"), "result is a symbol"],
      [{ toJSON: () => () => 1 }, "result is a function"],
      [cyclic, "result[0].deep contains itself"],
    ] as const) {
      expect(() => encodeJson(value, limits)).toThrow(message);
    }
  });
});

describe("text on the wire", () => {
  test("is measured as UTF-8 and cut between characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 2, max: 50 }), (text, units) => {
        expect(utf8Length(text)).toBe(Buffer.byteLength(text));
        const head = cutAt(text, units);
        expect(text.startsWith(head)).toBe(true);
        expect(head.length).toBeLessThanOrEqual(units);
        expect(Buffer.byteLength(head) + Buffer.byteLength(text.slice(head.length))).toBe(
          Buffer.byteLength(text),
        );
        if (text.length > units) expect(head.length).toBeGreaterThanOrEqual(units - 1);
      }),
    );
  });
});
