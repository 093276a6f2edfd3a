/** Display of a script's text to an approver before the decision. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  describeCall,
  describeOrigin,
  splitHidden,
  visibleJson,
  visibleLine,
  visibleText,
} from "#client/visible-text.ts";

/** By their numbers: independent of the expression that finds them. */
const RANGES: readonly (readonly [number, number])[] = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x2800, 0x2800],
  [0x3164, 0x3164],
  [0xd800, 0xdfff],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffb],
  [0xe0000, 0xe0fff],
];
const hidden = RANGES.flatMap(([first, last]) =>
  Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index)),
);

test("every invisible or directing character is written as an escape, wherever it stands", () => {
  for (const character of hidden) {
    for (const text of [character, `a${character}b`, `${character}${character}`]) {
      expect(visibleLine(text), text.codePointAt(0)?.toString(16)).not.toContain(character);
      expect(visibleLine(text)).toMatch(/\\/);
      expect(visibleText(text)).not.toContain(character);
      expect(visibleJson({ [text]: text })).not.toContain(character);
    }
  }
});

test("text of every language stays as it is, and so do emoji", () => {
  const text = "Straße 東京　です नमस्ते שלום مرحبا é e\u0301 ❤️ 👩‍💻 👍🏽 1️ ×";
  expect(visibleText(text.replace("1️", "1"))).toBe(text.replace("1️", "1"));
  expect(visibleText("a\tb\nc")).toBe("a\tb\nc");
  expect(visibleLine("a\tb\nc")).toBe("a\\tb\\nc");
  // Not part of an emoji: a way to carry invisible data.
  expect(visibleText("a\ufe0fb\u200dc❤\ufe0f\ufe0f")).toBe("a\\ufe0fb\\u200dc❤\ufe0f\\ufe0f");
  expect(visibleText(`a${"\u0301".repeat(6)}`)).toBe(`a${"\u0301".repeat(4)}\\u0301\\u0301`);
});

test("JSON means the same; parts put together are the text; nothing is lost or cut", () => {
  const unit = fc.oneof(fc.constantFrom(...hidden, "a", "\n", "\\", '"'), fc.string({ unit: "binary" }));
  fc.assert(
    fc.property(fc.string({ unit }), fc.string({ unit }), (name, text) => {
      const value = { [name]: text, a: [text] };
      expect(JSON.parse(visibleJson(value))).toEqual(value);
      expect(JSON.parse(visibleJson(value, 2))).toEqual(value);
      expect(
        splitHidden(text)
          .map((part) => part.text)
          .join(""),
      ).toBe(visibleText(text));
    }),
    { numRuns: 200 },
  );
});

test("what a call comes to is said where it is more than the name of its tool", () => {
  const call = { processId: 1, requestedBy: "key_1", requestedByName: null, kind: "call" } as const;
  const named = { ...call, serviceId: "web", toolId: "write" };
  expect(describeCall({ ...named, message: "The script wants to call web.write." })).toBeNull();
  expect(describeCall({ ...named, kind: "ask", message: "May I?" })).toBeNull();
  const message = "The script wants to call web.write: POST https://a.example/\u202e.";
  expect(describeCall({ ...named, message })).toBe(message.replace("\u202e", "\\u202e"));
});

test("who asks is in one line, whatever a key is called", () => {
  const request = {
    processId: 12,
    requestedBy: "key_1",
    kind: "ask",
    serviceId: null,
    toolId: null,
  } as const;
  expect(describeOrigin({ ...request, requestedByName: "ci-bot" })).toBe(
    "Process 12, submitted by ci-bot (key_1), asks",
  );
  expect(describeOrigin({ ...request, requestedBy: "bootstrap", requestedByName: null })).toBe(
    "Process 12, submitted by bootstrap, asks",
  );
  expect(describeOrigin({ ...request, requestedByName: "a\n\u202eb" })).toContain("a\\n\\u202eb (key_1)");
});
