/**
 * Large sources, of shapes that would take a careless preparation the square of their length, which is minutes: all
 * of it is done by the thread that serves everybody.
 */
import { expect, test } from "vitest";
import { prepareSource } from "#runner/preparer/prepare.ts";

const LARGEST_CHARS = 900_000;
/** A third of it: a busy machine must not take them for what is refused after 3 s; the square of it would be. */
const CHARS = 300_000;
/** Each takes less than one second, on a slow machine a few. */
const MAX_MS = 15_000;

const repeat = (text: string) => text.repeat(Math.floor(CHARS / text.length));

function number(line: (index: number) => string, maxChars = CHARS): string {
  const lines: string[] = [];
  for (let index = 0, chars = 0; chars < maxChars; index++) {
    lines.push(line(index));
    chars += (lines.at(-1)?.length ?? 0) + 1;
  }
  return lines.join("\n");
}

test.each([
  ["a fence with spaces after it", `\`\`\`${" ".repeat(CHARS)}\`\nx`, /fence/],
  ["a fence with a long word", `\`\`\`${"a".repeat(CHARS)}\`\nx`, /fence/],
  ["many fences", repeat("```ts\n"), /./],
  ["imports of types that never end", `return 1;${repeat("import type a\n")}`, /./],
  ["imports of types with one end", `return 1;${repeat("import type a\n")}"${"x".repeat(1000)}`, /./],
  ["declarations", number((index) => `let a${index};`), null],
  ["exports", number((index) => `export let a${index};`), null],
  ["a list of exports", `let a;\nexport {${number((index) => `a as a${index},`)}}`, null],
  ["calls of import()", repeat("import(1);"), null],
  ["calls of import() in a module", `${repeat("import(1);")}export default 1`, null],
  ["calls of require()", `${repeat("f();\n")}require("x")`, /require/],
  ["alternatives of one group", `/${repeat("(?<a>)|")}x/`, null],
  ["private names", `class A{#a;f(){${repeat("this.#a;")}}}`, null],
  ["functions that are started", `${repeat("main();\n")}async function main(){}`, null],
  ["decorators", number((index) => `class A${index}{@f x}`, LARGEST_CHARS), /8 MB|takes longer/],
])("%s", async (_, source, problem) => {
  const startedAt = performance.now();
  const prepared = await prepareSource(source);
  expect(performance.now() - startedAt).toBeLessThan(MAX_MS);
  if (problem === null) expect(prepared).toMatchObject({ ok: true });
  else expect(prepared).toMatchObject({ ok: false, error: { message: expect.stringMatching(problem) } });
});
