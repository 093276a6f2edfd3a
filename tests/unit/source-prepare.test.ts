import vm from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { prepareSource } from "#runner/preparer/prepare.ts";
import { findSource } from "#runner/source/draft.ts";

async function prepareOk(source: string): Promise<{ code: string; mappings: string }> {
  const prepared = await prepareSource(source);
  if (!prepared.ok)
    throw new Error(`${prepared.error.message} at ${prepared.error.line}:${prepared.error.column}`);
  return prepared;
}

/** Where `MARK` of the source is found through the generated code and its mappings. */
async function locateMark(source: string): Promise<unknown> {
  const { code, mappings } = await prepareOk(source);
  const before = code.slice(0, code.indexOf("MARK")).split("\n");
  return findSource(mappings, { line: before.length, column: before.at(-1)?.length ?? 0 });
}

const WRAPPINGS: [name: string, wrap: (body: string) => string, lines: number, columns: number][] = [
  ["body", (body) => body, 0, 0],
  ["fence", (body) => `Text\n\n\`\`\`ts\n${body}\n\`\`\`\n`, 3, 0],
  ["function", (body) => `async function main() {\n${body}\n}`, 1, 0],
  ["arrow", (body) => `async () => {\n${body}\n}`, 1, 0],
  ["export default", (body) => `export default async () => {\n${body}\n}`, 1, 0],
  ["started", (body) => `async function main() {\n${body}\n}\nmain().catch(console.error);`, 1, 0],
  ["decorated", (body) => `const d = (v: any, c: any) => v;\n@d class C {}\n${body}`, 2, 0],
  ["namespace", (body) => `namespace N { export const a = 1 }\n${body}`, 1, 0],
];

describe("preparing a source", () => {
  test.each(WRAPPINGS)("keeps every position: %s", async (_name, wrap, lines, columns) => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 6 }), fc.nat({ max: 20 }), fc.boolean(), async (blank, indent, crlf) => {
        const filler = Array.from({ length: blank }, (_, index) =>
          index % 2 ? "" : `const v${index}: number = ${index};`,
        );
        const body = [...filler, `${" ".repeat(indent)}console.log(MARK);`].join(crlf ? "\r\n" : "\n");
        expect(await locateMark(wrap(body))).toEqual({
          line: lines + blank + 1,
          column: columns + indent + 13,
        });
      }),
      { numRuns: 15 },
    );
  });

  test.each(WRAPPINGS)("gives one expression whose evaluation does nothing: %s", async (_name, wrap) => {
    const { code } = await prepareOk(wrap("globalThis.ran = true;"));
    const context = vm.createContext({});
    const main = vm.runInContext(code, context);
    expect([typeof main, main.constructor.name, context.ran]).toEqual([
      "function",
      "AsyncFunction",
      undefined,
    ]);
    expect(vm.runInContext(`(${code})`, context)).toBeTypeOf("function");
  });

  test("gives ASCII code", async () => {
    const { code } = await prepareOk('const ä = "😀\u2028"; return ä;');
    expect(code).toMatch(/^[\x20-\x7e\n]*$/);
  });

  test("names a place in the source when what closes its wrapper stands behind it", async () => {
    expect(await prepareSource("})({")).toEqual({
      ok: false,
      error: {
        name: "SyntaxError",
        message: "The source closes a bracket that it did not open.",
        line: 1,
        column: 5,
      },
    });
  });

  test("never rejects and never escapes its wrapper, whatever the text", async () => {
    const piece = fc.constantFrom(
      "}",
      ")",
      "(",
      "{",
      ";",
      "\n",
      "async () => {",
      "})",
      "export ",
      "import ",
      "`",
      "```",
      "/*",
      "*/",
      "//",
      "return ",
      "a",
      "'",
      '"',
      "=>",
      "\u2028",
      "${",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 14 }), async (pieces) => {
        const source = pieces.join("");
        const prepared = await prepareSource(source);
        if (!prepared.ok) {
          const lines = source.split("\n");
          expect(prepared.error.line).toBeGreaterThanOrEqual(1);
          expect(prepared.error.line).toBeLessThanOrEqual(
            lines.length + (source.match(/\u2028/g)?.length ?? 0),
          );
          expect(prepared.error.column).toBeGreaterThanOrEqual(1);
          return;
        }
        const context = vm.createContext({});
        expect(vm.runInContext(prepared.code, context)).toBeTypeOf("function");
        expect(Object.keys(context)).toEqual([]);
      }),
      { numRuns: 400 },
    );
  }, 60_000);

  test.each([
    ["of another file", { version: 3, sources: ["other.ts"], names: [], mappings: "AAGA,MAAM" }],
    ["that is none", { version: 3 }],
  ])("does not follow a source map %s", async (_, map) => {
    const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString("base64")}`;
    for (const comment of [
      `//# sourceMappingURL=${url}`,
      `/*# sourceMappingURL=${url} */`,
      `//# sourceMappingURL=data:,{`,
    ]) {
      expect(await locateMark(`const a = 1;\n  MARK; ${comment}`)).toEqual({ line: 2, column: 3 });
      expect(await locateMark(`const a = 1;\n  MARK;\n${comment}\n\n`)).toEqual({ line: 2, column: 3 });
      expect(await locateMark(`${comment}\nexport default () => MARK;`)).toEqual({ line: 2, column: 22 });
    }
    expect((await prepareOk(`return "//# sourceMappingURL=${url}"`)).code).toContain(url);
  });

  test("answers the same source from its cache", async () => {
    const source = "return 'cached once'";
    expect(await prepareSource(source)).toBe(await prepareSource(source));
    const wrong = "const = 1";
    expect(await prepareSource(wrong)).toBe(await prepareSource(wrong));
  });
});
