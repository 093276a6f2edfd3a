/** A source is the same whether esbuild's program transpiles it alone or its service does. */
import { expect, test } from "vitest";
import { canGiveBirth } from "#runner/jail/birth-code.ts";
import { transpile } from "#runner/source/transpile.ts";
import { transformOnce } from "#runner/source/transpile-once.ts";

const SOURCES = [
  "",
  "const six: number = 6; return six * 7;",
  'interface A { b?: string }\nconst a: A = {};\nenum Color { Red = "r" }\nexport default a.b!.length;',
  'const text = "ä€😀\\u2028"; // 😀 //# sourceMappingURL=data:application/json;base64,AAAA\nconst url = "//# sourceMappingURL=data:application/json;base64,";',
  "namespace N { export const x = 1 }\nusing y = null;\nclass B<T> { constructor(private z: T) {} }",
  // What esbuild leaves as it is.
  "const a = /ö‹😀/u.test(String.raw`ünï😀\\u`); return /(?<é>x)/.source + 'ö';",
  `${"const a = 1;\n{ ".repeat(200)}${"}".repeat(200)}`,
];

test.runIf(canGiveBirth()).each(SOURCES)("source %#", async (source) => {
  const once = await transformOnce(source, "ts", 10_000);
  const served = await transpile(source);
  expect(served).toEqual({
    ok: true,
    code: once?.code,
    mappings: (JSON.parse(once?.map ?? "{}") as { mappings: string }).mappings,
  });
});

test("what is wrong is left to the service, which says it", async () => {
  expect(await transformOnce("const = 1", "ts", 10_000)).toBeNull();
});
