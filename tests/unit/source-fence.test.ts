import { describe, expect, test } from "vitest";
import { extractFence, startsWithFence } from "#runner/source/fence.ts";

describe("finding the script in an answer", () => {
  test("takes the only script block and tells where it starts", () => {
    expect(extractFence("Intro\n\n```ts\na\nb\n```\nOutro")).toEqual({
      kind: "block",
      body: "a\nb",
      firstLine: 3,
    });
    expect(extractFence("```\na\n```")).toEqual({ kind: "block", body: "a", firstLine: 1 });
    expect(extractFence("~~~js\r\na\r\n~~~\r\n")).toEqual({ kind: "block", body: "a\r", firstLine: 1 });
  });

  test("prefers script blocks over others and reads longer fences and missing ends", () => {
    expect(extractFence("```json\n{}\n```\n```TypeScript title=x\na\n```")).toMatchObject({
      kind: "block",
      body: "a",
    });
    expect(extractFence("````ts\n```\ninner\n```\n````")).toMatchObject({ body: "```\ninner\n```" });
    expect(extractFence("```ts\ncut off")).toMatchObject({ kind: "block", body: "cut off" });
    expect(extractFence("```ts\n```")).toMatchObject({ kind: "block", body: "" });
  });

  test("refuses what leaves a choice, and finds nothing where nothing is", () => {
    expect(extractFence("```ts\na\n```\n```js\nb\n```")).toMatchObject({ kind: "refused", line: 3 });
    expect(extractFence("```python\na\n```")).toMatchObject({
      kind: "refused",
      message: expect.stringContaining("python"),
    });
    expect(extractFence("const a = `x`")).toEqual({ kind: "none" });
  });

  test("knows a text that can only be a block", () => {
    expect(startsWithFence("\n  ```ts\n")).toBe(true);
    expect(startsWithFence("``` `x` ```")).toBe(false);
    expect(startsWithFence("const a = 1;\n```")).toBe(false);
  });
});
