/** A large source has a process of esbuild to itself, with limits; what it does to that process is nobody else's trouble. */
import { expect, test } from "vitest";
import { prepareSource } from "#runner/source/prepare.ts";
import { transpile } from "#runner/source/transpile.ts";
import { transformAlone } from "#runner/source/transpile-alone.ts";

const LARGE = 'const a: number = 1; const text = "ä€😀";\n';

const SOURCES = [
  "",
  LARGE.slice(0, -1),
  "const six: number = 6; return six * 7;",
  'interface A { b?: string }\nconst a: A = {};\nenum Color { Red = "r" }\nexport default a.b!.length;',
  'const text = "ä€😀\\u2028"; // 😀 //# sourceMappingURL=data:application/json;base64,AAAA\nconst url = "//# sourceMappingURL=data:application/json;base64,";',
  "namespace N { export const x = 1 }\nusing y = null;\nclass B<T> { constructor(private z: T) {} }",
  // What esbuild leaves as it is.
  "const a = /ö‹😀/u.test(String.raw`ünï😀\\u`); return /(?<é>x)/.source + 'ö';",
  `${"const a = 1;\n{ ".repeat(200)}${"}".repeat(200)}`,
];

test.each(SOURCES)("makes of source %# what the service makes of it", async (small) => {
  const alone = await transformAlone(small, "ts", 10_000);
  if (typeof alone === "string") throw new Error(alone);
  const { mappings } = JSON.parse(alone.map) as { mappings: string };
  expect(await transpile(small)).toEqual({ ok: true, code: alone.code, mappings });
});

test("what is wrong with a large source is said with its place", async () => {
  const source = `{${LARGE}}\n`.repeat(5_000);
  expect(await prepareSource(source)).toMatchObject({ ok: true });
  expect(await prepareSource(`${source}const = 1`)).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining('"="'), line: 10_001, column: 7 },
  });
});

test.each([
  ["deeply", `${"!".repeat(900_000)}1`],
  ["deeply, in templates", `a${"``".repeat(450_000)}`],
  ["oddly", `(${"1,".repeat(450_000)}1)`],
])("one that is nested %s is refused, and others are not held up", async (_, source) => {
  const refused = prepareSource(source);
  const others = await Promise.all(
    Array.from({ length: 20 }, (_, index) => prepareSource(`const a: number = ${index}; return a;`)),
  );
  expect(others.filter(({ ok }) => !ok)).toEqual([]);
  expect(await refused).toMatchObject({
    ok: false,
    error: { name: "SyntaxError", message: expect.stringContaining("nested too deeply") },
  });
});

test.runIf(process.platform === "linux")("a process of its own has no gigabyte", async () => {
  expect(await transformAlone(`${"!".repeat(900_000)}1`, "ts", 60_000)).toBe("lost");
});

test("more than there are processors wait for each other", async () => {
  const all = Array.from({ length: 12 }, (_, index) =>
    `${LARGE.repeat(2_000)}const b${index}: number = 1;`
      .replaceAll("const a", "var a")
      .replaceAll("const text", "var text"),
  );
  const made = await Promise.all(all.map((source) => transformAlone(source, "ts", 30_000)));
  expect(
    made.map((result) => (typeof result === "string" ? result : result.code.includes("const b"))),
  ).toEqual(all.map(() => true));
});
