/** No call of `import()` is left in what a realm runs: each has become one of the realm's own function. */
import { parse } from "acorn";
import { describe, expect, test } from "vitest";
import { prepareSource } from "#runner/preparer/prepare.ts";
import { IMPORT_FUNCTION, IMPORT_FUNCTION_ESCAPED } from "#runner/wire/realm-constants.ts";

async function prepare(source: string): Promise<string> {
  const prepared = await prepareSource(source);
  if (!prepared.ok) throw new Error(prepared.error.message);
  return prepared.code;
}

const countCalls = (code: string) => code.split(`${IMPORT_FUNCTION}(`).length - 1;

function countLeft(code: string): number {
  let left = 0;
  JSON.stringify(parse(code, { ecmaVersion: "latest" }), (_, value) => {
    if (value?.type === "ImportExpression") left++;
    return typeof value === "bigint" ? null : value;
  });
  return left;
}

describe("import()", () => {
  test.each([
    ["in a body", 'const a = await import("fs"), b = await import /* b */ ("path"); return [a, b];', 2],
    ["beside a default export", 'export default async () => [await import("fs"), import("path")];', 2],
    ["in a module with other exports", 'export const a = import("fs"); export default 1;', 1],
    [
      "in templates and defaults",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the template is the script's.
      "(async (a = import('x')) => `${await import(`y${await import('z')}`)}`)();",
      3,
    ],
    ["in classes", "class A { static b = import('x'); [await import('y')]() {} static { import('z'); } }", 3],
    ["in patterns", "const { a = import('x'), ...b } = {}; for (const [c = import('y')] of []) {}", 2],
    ["with types around it", "const a = (import('x') as Promise<unknown>)!; type B = typeof import('y');", 1],
    ["with attributes", "await import('x', { with: { type: 'json' } });", 1],
    [
      "in an enum and a namespace",
      "enum A { b = +import('x') }\nnamespace C { export const d = import('y'); }",
      2,
    ],
  ])("%s becomes a call of the hidden function", async (_, source, calls) => {
    const code = await prepare(source);
    expect(countLeft(code)).toBe(0);
    expect(countCalls(code.replaceAll(/\s*\/\*.*?\*\/\s*/g, ""))).toBe(calls);
  });

  test("is not found in strings, comments, regular expressions and property names", async () => {
    const code = await prepare(
      '/* import("a") */ return ["import(1)", /import\\(/, ({ import() {} }).import()]; // import("b")',
    );
    expect(code).not.toContain(IMPORT_FUNCTION);
  });

  test("moves nothing", async () => {
    expect([IMPORT_FUNCTION.length, JSON.parse(`"${IMPORT_FUNCTION_ESCAPED}"`)]).toEqual([
      6,
      IMPORT_FUNCTION,
    ]);
    const [with_, without] = await Promise.all([
      prepareSource('const a = await import("x:y"); throw a;'),
      prepareSource('const a = await imporT("x:y"); throw a;'),
    ]);
    expect(with_.ok && without.ok && [with_.mappings, with_.code.length]).toEqual([
      without.ok && without.mappings,
      without.ok && without.code.length,
    ]);
  });

  test.each(["import.meta.url", "await import.defer('x')", "await import.source('x')", "import('x'"])(
    "%s is nothing that runs",
    async (source) => {
      expect((await prepareSource(source)).ok).toBe(false);
    },
  );
});
