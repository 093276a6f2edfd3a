import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { decodeCursor, encodeCursor } from "#api/http/cursor.ts";

const position = z.strictObject({ at: z.string(), id: z.int() });
const positions = fc.record({ at: fc.string(), id: fc.maxSafeInteger() });
const refused = expect.objectContaining({ code: "invalid_cursor", status: 400 });

function errorOf(action: () => unknown): unknown {
  try {
    action();
    return null;
  } catch (error) {
    return error;
  }
}

test("a cursor carries any position there and back, in characters that need no escaping in a URL", () => {
  fc.assert(
    fc.property(positions, (value) => {
      const cursor = encodeCursor("things", value);
      fc.pre(cursor.length <= 500);
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
      expect(decodeCursor("things", position, cursor)).toEqual(value);
    }),
  );
});

test("any change of one character makes it invalid", () => {
  fc.assert(
    fc.property(positions, fc.nat(), fc.constantFrom(..."ABCxyz019-_"), (value, where, replacement) => {
      const cursor = encodeCursor("things", value);
      const at = where % cursor.length;
      fc.pre(cursor[at] !== replacement);
      const changed = cursor.slice(0, at) + replacement + cursor.slice(at + 1);
      expect(errorOf(() => decodeCursor("things", position, changed))).toEqual(refused);
    }),
  );
});

test("any other text is refused, never an exception of another kind", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String(), fc.string({ unit: "binary" })), (text) => {
      expect(errorOf(() => decodeCursor("things", position, text))).toEqual(refused);
    }),
  );
});

test("a cursor of another listing, or of another shape, is refused", () => {
  const cursor = encodeCursor("things", { at: "x", id: 1 });
  expect(errorOf(() => decodeCursor("others", position, cursor))).toEqual(refused);
  expect(errorOf(() => decodeCursor("things", z.strictObject({ name: z.string() }), cursor))).toEqual(
    refused,
  );
});
