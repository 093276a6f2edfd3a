/** The console limits kept output in characters and pieces, and counts what it drops. */
import { expect, test } from "vitest";
import { addChunk, NOTHING, type Printed } from "../../web/runs/printed.ts";

const MAX_CHARACTERS = 200_000;
const MAX_PIECES = 2000;

const textOf = ({ chunks }: Printed) => chunks.map(({ text }) => text).join("");

test("pieces of one stream are one, and an empty one is none", () => {
  let printed = addChunk(NOTHING, { stream: "stdout", text: "" });
  expect(printed).toEqual(NOTHING);
  printed = addChunk(printed, { stream: "stdout", text: "one " });
  printed = addChunk(printed, { stream: "stdout", text: "two " });
  printed = addChunk(printed, { stream: "stderr", text: "three" });
  expect(printed).toEqual({
    chunks: [
      { stream: "stdout", text: "one two " },
      { stream: "stderr", text: "three" },
    ],
    droppedCharacters: 0,
  });
});

test("a script that goes to and fro between its streams cannot fill the page with pieces", () => {
  const written = Array.from({ length: MAX_PIECES + 500 }, (_, index) => String(index % 10));
  const printed = written.reduce(
    (before, text, index) => addChunk(before, { stream: index % 2 === 0 ? "stdout" : "stderr", text }),
    NOTHING,
  );
  expect(printed.chunks).toHaveLength(MAX_PIECES);
  expect(printed.droppedCharacters).toBe(500);
  expect(textOf(printed)).toBe(written.slice(-MAX_PIECES).join(""));
});

test("the end of what is too long is kept, across pieces", () => {
  let printed = addChunk(NOTHING, { stream: "stdout", text: "a".repeat(MAX_CHARACTERS - 1) });
  printed = addChunk(printed, { stream: "stderr", text: "bcd" });
  expect(textOf(printed)).toBe(`${"a".repeat(MAX_CHARACTERS - 3)}bcd`);
  expect(printed.droppedCharacters).toBe(2);
  printed = addChunk(printed, { stream: "stdout", text: `x${"y".repeat(MAX_CHARACTERS)}` });
  expect(printed.chunks).toEqual([{ stream: "stdout", text: "y".repeat(MAX_CHARACTERS) }]);
  expect(printed.droppedCharacters).toBe(MAX_CHARACTERS + 3);
});

test("more pieces than a call can have arguments are no trouble", () => {
  const chunks = Array.from({ length: 200_000 }, (_, index) => ({
    stream: index % 2 === 0 ? ("stdout" as const) : ("stderr" as const),
    text: "x",
  }));
  const printed = addChunk({ chunks, droppedCharacters: 0 }, { stream: "stdout", text: "y" });
  expect(printed.chunks).toHaveLength(MAX_PIECES);
  expect(printed.droppedCharacters).toBe(200_001 - MAX_PIECES);
});
