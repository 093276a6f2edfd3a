/** A script of several source files: what its imports mean, how they run in a realm, and where their errors are. */
import { describe, expect, test } from "vitest";
import { type PreparedSource, prepareSource } from "#runner/preparer/prepare.ts";
import { BUILTINS } from "#runner/source/modules/names.ts";
import { runCode } from "./realm-harness.ts";

type Files = Record<string, string>;

function prepare(script: string, files: Files = {}, name?: string): Promise<PreparedSource> {
  return prepareSource(script, { name, readModule: async (path) => files[path] ?? null });
}

/** Prepares a script with its files and runs it in a realm of its own. */
async function run(script: string, files: Files = {}, name?: string) {
  const prepared = await prepare(script, files, name);
  if (!prepared.ok) throw new Error(JSON.stringify(prepared.error));
  return runCode(prepared.code, { mappings: prepared.mappings, sources: prepared.sources });
}

async function resultOf(script: string, files: Files = {}, name?: string): Promise<unknown> {
  const { end } = await run(script, files, name);
  if (!end.ok) throw new Error(end.error.stack || end.error.message);
  return end.result;
}

async function errorOf(script: string, files: Files = {}, name?: string) {
  const prepared = await prepare(script, files, name);
  if (prepared.ok) throw new Error("expected an error");
  return prepared.error;
}

const LIB = {
  "lib/x.ts":
    "export const x: number = 2;\nexport default function twice(n: number): number { return n * x }",
  "lib/data.json": '{"a": 1, "list": [1, 2], "__proto__": 3, "default": 4}',
  "lib/note.md": "# Title\n",
};

describe("the forms of an entry that imports", () => {
  test.each<[string, string, unknown]>([
    ["a body with return", 'import twice, { x } from "./lib/x.ts";\nconst r = twice(x);\nreturn r', 4],
    [
      "a body with await and return",
      'import { x } from "./lib/x.ts";\nawait null;\nif (x) return [x];\nreturn 0',
      [2],
    ],
    ["no line break", 'import { x } from "./lib/x.ts"; return x', 2],
    ["two on a line", 'import { x } from "./lib/x.ts"; import t from "./lib/x.ts"; return t(x)', 4],
    ["below other statements", 'const a = 1;\nimport { x } from "./lib/x.ts";\nreturn a + x', 3],
    [
      "over several lines",
      'import {\n  x, // the number\n  /* and */ default as t,\n} from "./lib/x.ts";\nreturn t(x)',
      4,
    ],
    ["no return", 'import { x } from "./lib/x.ts";\nawait 1; x;', 2],
    ["a started function", 'import { x } from "./lib/x.ts";\nasync function main() { return x }\nmain();', 2],
    ["a lone function", 'import { x } from "./lib/x.ts";\nexport default async () => x', 2],
    ["a default value", 'import { x } from "./lib/x.ts";\nexport default { x }', { x: 2 }],
    ["a default passed on", 'export { x as default } from "./lib/x.ts"', 2],
    ["a fenced body", 'Look:\n\n```ts\nimport { x } from "./lib/x.ts";\nreturn x\n```\nDone.', 2],
    ["a fenced module", '```ts\nimport { x } from "./lib/x.ts";\nexport default x\n```', 2],
    [
      "types among it",
      'import type { T } from "./t";\nimport { type U, x } from "./lib/x.ts";\ntype A = T;\nreturn x as A',
      2,
    ],
    [
      "an interface without `type`",
      'import { x, Missing } from "./lib/x.ts";\nconst m: Missing = x;\nreturn m',
      2,
    ],
    ["import() alone", 'const { x } = await import("./lib/x.ts");\nreturn x', 2],
    ["import() in a lone function", 'async () => (await import("./lib/x.ts")).x', 2],
    [
      "a namespace",
      'import * as all from "./lib/x.ts";\nreturn [Object.keys(all).sort(), all.default(3)]',
      [["default", "x"], 6],
    ],
    ["export type beside return", 'import { x } from "./lib/x.ts";\nexport type A = 1;\nreturn x', 2],
    [
      "what looks like one in a string",
      'import { x } from "./lib/x.ts";\nconst s = `\nimport { y } from "./y";\n`;\nreturn [x, s]',
      [2, '\nimport { y } from "./y";\n'],
    ],
    [
      "what looks like one in a comment",
      '/*\nimport { y } from "./y";\n*/\nimport { x } from "./lib/x.ts";\nreturn x',
      2,
    ],
    [
      "a name that is declared again inside",
      'import { x } from "./lib/x.ts";\nconst f = (x: number) => x + 1;\n{ const x = 7; f(x); }\nreturn [f(1), { x }]',
      [2, { x: 2 }],
    ],
  ])("%s", async (_, script, expected) => {
    expect(await resultOf(script, LIB)).toEqual(expected);
  });

  test("an entry with a name of its own imports relative to it", async () => {
    const files = { "jobs/a.ts": "export const a = 1;", "b.ts": "export const b = 2" };
    expect(
      await resultOf(
        'import { a } from "./a";\nimport { b } from "../b";\nreturn a + b',
        files,
        "jobs/main.ts",
      ),
    ).toBe(3);
    const { end } = await run('throw new Error("x")', {}, "jobs/main.ts");
    expect(end.error).toMatchObject({ stack: "Error: x\n    at jobs/main.ts:1:7", line: 1, column: 7 });
    expect(end.error).not.toHaveProperty("file");
  });
});

describe("what a specifier finds", () => {
  test.each<[string, string, Files, unknown]>([
    ["the name as it is", "./a.ts", { "a.ts": "export default 1" }, 1],
    ["without its extension", "./a", { "a.mjs": "export default 1" }, 1],
    ["code before data", "./a", { "a.json": "2", "a.ts": "export default 1" }, 1],
    ["a folder's index", "./a", { "a/index.ts": "export default 1" }, 1],
    ["the folder itself", "./", { "index.js": "export default 1" }, 1],
    ["the name it is compiled to", "./a.js", { "a.ts": "export default 1" }, 1],
    ["a name with two points", "./a.config", { "a.config.ts": "export default 1" }, 1],
    ["from the root", "/lib/a.ts", { "lib/a.ts": "export default 1" }, 1],
    ["detours", "./lib/.././lib//a.ts", { "lib/a.ts": "export default 1" }, 1],
    ["a text", "./a.csv", { "a.csv": "a,b\n1,2\n" }, "a,b\n1,2\n"],
    ["a text in NFC", "./a\u0308.txt", { "\u00e4.txt": "x" }, "x"],
    ["JSON", "./a.json", { "a.json": '\uFEFF{"a":[1]}' }, { a: [1] }],
    ["tsx without JSX", "./a.tsx", { "a.tsx": "const a = <number>1; export default a" }, 1],
    [
      "JavaScript as such",
      "./a.js",
      { "a.js": "const f = (a, b) => [a, b], g = 1, h = 2; export default f(g<h, h>(1))" },
      [true, true],
    ],
  ])("%s", async (_, specifier, files, expected) => {
    expect(await resultOf(`import a from ${JSON.stringify(specifier)};\nreturn a`, files)).toEqual(expected);
    expect(await resultOf(`return (await import(${JSON.stringify(specifier)})).default`, files)).toEqual(
      expected,
    );
  });

  test("a module of Node that is not there is answered with all that are", async () => {
    const { message } = await errorOf('import net from "node:net"; return net');
    for (const name of BUILTINS.filter((one) => !one.includes("/")))
      expect(message).toContain(`node:${name}`);
  });

  test("attributes say how a file is read", async () => {
    const files = { "a.json": '{"b":1}', "c.ts": "export default 1" };
    const script = `import text from "./a.json" with { type: "text" };
import data, { b } from "./a.json" with { type: "json" };
import code from "./c.ts" with { type: 'text' };
const { default: again } = await import("./a.json", { with: { type: "json" } });
return [text, data, b, code, again === data]`;
    expect(await resultOf(script, files)).toEqual(['{"b":1}', { b: 1 }, 1, "export default 1", true]);
  });

  test("names of JSON data do not reach a prototype", async () => {
    const script =
      'import data, * as all from "./lib/data.json";\nreturn [Object.keys(data), Object.keys(all).sort(), ({}).polluted]';
    expect(await resultOf(script, LIB)).toEqual([
      ["a", "list", "__proto__", "default"],
      ["__proto__", "a", "default", "list"],
      null,
    ]);
  });
});

describe("modules among themselves", () => {
  test("run once, imports first, and wait for each other", async () => {
    const files = {
      "a.ts":
        'import "./c.ts";\nawait new Promise((r) => setTimeout(r, 5));\nexport const a = 1; console.log("a");',
      "b.ts": 'import "./c.ts"; import { a } from "./a.ts"; console.log("b", a);',
      "c.ts": 'console.log("c");',
    };
    const { stdout } = await run(
      'import "./a.ts";\nimport "./b.ts";\nconsole.log("entry");\nawait import("./b.ts")',
      files,
    );
    expect(stdout).toBe("c\na\nb 1\nentry\n");
  });

  test("import each other in a circle", async () => {
    const files = {
      "even.ts":
        'import { odd } from "./odd.ts";\nexport function even(n: number): boolean { return n === 0 || odd(n - 1) }\nexport const early = odd(1);',
      "odd.ts":
        'import { even } from "./even.ts";\nexport function odd(n: number): boolean { return n !== 0 && even(n - 1) }\nexport const first = even(0);',
    };
    expect(
      await resultOf(
        'import { even, early } from "./even.ts"; import { first } from "./odd.ts"; return [even(10), early, first]',
        files,
      ),
    ).toEqual([true, true, true]);
  });

  test("a circle finds a constant before its value as in any module", async () => {
    const files = {
      "a.ts": 'import { b } from "./b.ts"; export const a = 1;',
      "b.ts": 'import { a } from "./a.ts"; export const b = a;',
    };
    const { end } = await run('import "./a.ts"; return 1', files);
    expect(end.error).toMatchObject({ name: "ReferenceError", file: "b.ts", line: 1, column: 46 });
  });

  test("the entry can be imported by what it imports", async () => {
    const files = { "a.ts": 'import { base } from "./script.ts"; export const later = () => base;' };
    expect(
      await resultOf(
        'import { later } from "./a.ts";\nexport const base = 5;\nexport default () => later()',
        files,
      ),
    ).toBe(5);
  });

  test("names are live, and are passed on", async () => {
    const files = {
      "count.ts": "export let count = 0; export const up = () => { count++ };",
      "index.ts":
        'export * from "./count.ts"; export * as whole from "./count.ts"; export { count as renamed } from "./count.ts"; export const own = "own";',
      "again.ts": 'export * from "./index.ts"; export * from "./again.ts"; export const own = "mine";',
    };
    const script =
      'import { count, up, renamed, whole, own } from "./again.ts";\nup(); up();\nreturn [count, renamed, whole.count, own]';
    expect(await resultOf(script, files)).toEqual([2, 2, 2, "mine"]);
  });

  test("exports of every kind", async () => {
    const files = {
      "a.ts": `const hidden = 1;
export const { b, c: [d = 4, ...e], ...f } = { b: 2, c: [undefined, 5, 6], g: 7 };
export { hidden as "a name" };
export function fun() { return "fun" }
export class Cls { static v = 8 }
export enum Num { One = 1 }
export namespace Space { export const v = 9 }
export default class extends Cls {}
const __proto__ = 10; export { __proto__ };`,
    };
    const script = `import { "a name" as an, b, d, e, f, fun, Cls, Num, Space } from "./a.ts";
import Sub, * as all from "./a.ts";
export default [an, b, d, e, f, fun(), Cls.v, Num.One, Space.v, Sub.v, Object.keys(all).length, Object.hasOwn(all, "__proto__")]`;
    expect(await resultOf(script, files)).toEqual([1, 2, 4, [5, 6], { g: 7 }, "fun", 8, 1, 9, 8, 11, true]);
  });

  test("what fails fails each time it is imported", async () => {
    const files = { "bad.ts": 'throw new Error("bad")' };
    const script = `const tries = [];
for (let i = 0; i < 2; i++) await import("./bad.ts").catch((error) => tries.push(error));
return [tries.length, tries[0] === tries[1]]`;
    expect(await resultOf(script, files)).toEqual([2, true]);
  });

  test("a script sees none of what links it", async () => {
    const script =
      'import { x } from "./lib/x.ts";\nreturn [typeof module, typeof exports, typeof modules, x, this === undefined]';
    expect(await resultOf(script, LIB)).toEqual(["undefined", "undefined", "undefined", 2, true]);
  });
});

describe("where an error is", () => {
  test.each<[string, string, Files, object]>([
    [
      "a syntax error",
      'import "./a.ts"',
      { "a.ts": "const a = 1;\nconst b = ;" },
      { file: "a.ts", line: 2, column: 11 },
    ],
    [
      "a nested one",
      'import "./a.ts"',
      { "a.ts": '\nimport "./b/c.ts"', "b/c.ts": "let a;\n let a" },
      { file: "b/c.ts", line: 2, column: 6 },
    ],
    ["of a module", "export const a = 1;\nconst b = ;", {}, { line: 2, column: 11 }],
    ["of the script itself", 'import { x } from "./lib/x.ts";\nreturn x +;', LIB, { line: 2, column: 11 }],
    [
      "a file that is missing",
      'return 1;\n  import "./none.ts"',
      {},
      { line: 2, column: 3, message: expect.stringContaining("none.ts") },
    ],
    [
      "a file that is missing elsewhere",
      'import "./a.ts"',
      { "a.ts": '\n  import "./none"' },
      { file: "a.ts", line: 2, column: 3 },
    ],
    [
      "out of the workspace",
      'import "../x.ts"',
      {},
      { line: 1, column: 1, message: expect.stringContaining("is outside of the workspace") },
    ],
    [
      "out of it by detours",
      'import "./a/../../../etc/passwd"',
      {},
      { message: expect.stringContaining("is outside of the workspace") },
    ],
    ["a backslash", 'import "./a\\\\..\\\\b"', {}, { message: expect.stringContaining("backslash") }],
    [
      "a package",
      'import axios from "axios"',
      {},
      { line: 1, column: 1, message: expect.stringContaining("packages are not available") },
    ],
    [
      "an address",
      'import x from "https://x.test/x.js"',
      {},
      { message: expect.stringContaining("nothing is loaded from an address") },
    ],
    ...(
      [
        ["node:readline", "cyrnel.files.lines(name)"],
        ["readline/promises", "cyrnel.files.lines(name)"],
        ["querystring", "URLSearchParams"],
        ["node:stream/web", "ReadableStream, WritableStream, TransformStream and the others are globals"],
        ["node:stream/consumers", "new Response(stream)"],
        ["async_hooks", "pass values"],
        ["node:zlib", "an npm package such as jszip or fflate"],
      ] as const
    ).map(
      ([name, says]) =>
        [
          name,
          `import "${name}"`,
          {},
          {
            message: expect.stringContaining(says),
          },
        ] satisfies [string, string, Files, object],
    ),
    [
      "child_process",
      'import { exec } from "child_process"; exec("ls")',
      {},
      { message: expect.stringContaining("a script starts no processes") },
    ],
    [
      "a name that is missing",
      'import { y } from "./lib/x.ts"; return y',
      LIB,
      { message: 'lib/x.ts has no export named "y".' },
    ],
    [
      "a default that is missing",
      'import y from "./a.ts"; return y',
      { "a.ts": "export const a = 1" },
      { message: expect.stringContaining("no default export") },
    ],
    [
      "bad JSON",
      'import d from "./d.json"',
      { "d.json": '{\n "a": }' },
      { file: "d.json", line: 2, column: 7 },
    ],
    [
      "a type that is not known",
      'import d from "./lib/data.json" with { type: "css" }',
      LIB,
      { message: expect.stringContaining('"css"') },
    ],
    [
      "JSX",
      'import "./a.tsx"',
      { "a.tsx": "export default <p>hi</p>" },
      { file: "a.tsx", message: expect.stringContaining("JSX") },
    ],
    [
      "require",
      'import "./a.js"',
      { "a.js": '\nconst b = require("./b")' },
      { file: "a.js", line: 2, column: 11 },
    ],
    ["CommonJS", 'import "./a.js"', { "a.js": "\nmodule.exports = 1" }, { file: "a.js", line: 2, column: 1 }],
    [
      "top-level return",
      'import "./a.ts"',
      { "a.ts": "export {};\nreturn 1" },
      { file: "a.ts", line: 2, column: 1 },
    ],
    [
      "import.meta",
      'import { x } from "./lib/x.ts"; return [x, import.meta.url]',
      LIB,
      { message: expect.stringContaining("import.meta") },
    ],
  ])("%s", async (_, script, files, expected) => {
    const error = await errorOf(script, files);
    expect(error).toMatchObject({ name: "SyntaxError", ...expected });
    if (!("file" in expected)) expect(error).not.toHaveProperty("file");
  });

  test("at run time, over several files and after await", async () => {
    const files = {
      "lib/deep.ts":
        'interface A { a: 1 }\n\nexport async function deep() {\n  await null;\n  throw new TypeError("deep");\n}',
      "lib/mid.ts": 'import { deep } from "./deep";\nexport class Mid {\n  async go() { await deep(); }\n}',
    };
    const { end } = await run(
      'import { Mid } from "./lib/mid";\n\nasync function main() {\n  await new Mid().go();\n}\nawait main();\nreturn 1',
      files,
    );
    expect(end.error).toMatchObject({ file: "lib/deep.ts", line: 5, column: 9 });
    expect(end.error.stack.split("\n").slice(0, 4)).toEqual([
      "TypeError: deep",
      "    at deep (lib/deep.ts:5:9)",
      "    at async go (lib/mid.ts:3:16)",
      "    at async main (script.ts:4:3)",
    ]);
  });

  test("a call of import() that leads nowhere rejects", async () => {
    const script =
      'const found = [];\nfor (const s of ["axios", "./none.ts", "../../x", "node:net"]) await import(s).catch((e) => found.push(e.message));\nawait import("axios").catch((e) => found.push(e.message)); await import("./none").catch((e) => found.push(e.message)); return found';
    const found = (await resultOf(script, LIB)) as string[];
    expect(found).toHaveLength(6);
    for (const message of found) expect(message).toMatch(/^import\(".*"\) finds nothing/);
  });
});

describe("hostile graphs", () => {
  const chain = (count: number): Files =>
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => [
        `m${i}.ts`,
        i + 1 < count ? `export { v } from "./m${i + 1}.ts";` : "export const v = 1;",
      ]),
    );

  test("a chain of 900 files", async () => {
    expect(await resultOf('import { v } from "./m0.ts"; return v', chain(900))).toBe(1);
  });

  test("more than 1,000 files are refused", async () => {
    const { message } = await errorOf('import { v } from "./m0.ts"; return v', chain(1100));
    expect(message).toMatch(/may import at most 1000 files/);
  });

  test("many names through many files are refused, however one import asks for them", async () => {
    const names = Array.from({ length: 2000 }, (_, i) => `v${i}`).join();
    const files = Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [`m${i}.ts`, `export * from "./m${i + 1}.ts";`]),
    );
    files["m500.ts"] = `export let ${names};`;
    const { message } = await errorOf(`import {${names}} from "./m0.ts";\n[${names}];`, files);
    expect(message).toMatch(/re-export each other too often/);
  });

  test("more than a mebibyte is refused", async () => {
    const files = { "a.txt": "x".repeat(600_000), "b.txt": "x".repeat(600_000) };
    expect((await errorOf('import a from "./a.txt";\nimport b from "./b.txt";', files)).message).toMatch(
      /at most 1024 KiB together/,
    );
    expect((await errorOf('import "./a.ts"', { "a.ts": `${" ".repeat(300_000)}1` })).message).toMatch(
      /at most 256 KiB/,
    );
  });

  test("many imports of one file, many names, many stars", async () => {
    const names = Array.from({ length: 3000 }, (_, i) => `n${i}`);
    const files: Files = { "a.ts": names.map((name) => `export const ${name} = 1;`).join("\n") };
    for (let i = 0; i < 30; i++)
      files[`s${i}.ts`] = `export * from "./s${(i + 1) % 30}.ts"; export * from "./a.ts";`;
    const script = `import { ${names.join(", ")} } from "./s0.ts"; return ${names.join("+")}`;
    expect(await resultOf(script, files)).toBe(3000);
  });

  test("a file that answers with the wrong names reads only what is asked by name", async () => {
    const asked: string[] = [];
    const prepared = await prepareSource('import "./a";\nimport "constructor"', {
      readModule: async (name) => {
        asked.push(name);
        return null;
      },
    });
    expect(prepared.ok).toBe(false);
    expect(asked).toContain("a.ts");
    expect(asked.every((name) => !name.startsWith("/") && !name.includes(".."))).toBe(true);
  });

  test("a source that is nested too deeply is refused at its file", async () => {
    const files = { "deep.ts": `export const a = ${"[".repeat(60_000)}1${"]".repeat(60_000)};` };
    expect((await errorOf('import { a } from "./deep.ts"; return a', files)).file).toBe("deep.ts");
  });
});

test("the same sources are prepared once, and others are not taken for them", async () => {
  const script = 'import { v } from "./v"; return v';
  const first = await prepare(script, { "v.ts": "export const v = 1;" });
  expect(await prepare(script, { "v.ts": "export const v = 1;" })).toBe(first);
  expect(await resultOf(script, { "v.ts": "export const v = 2;" })).toBe(2);
  expect(await resultOf(script, { "v.ts": "export const v = 1;" })).toBe(1);
  expect(await resultOf(script, { "v/index.ts": "export const v = 3;" })).toBe(3);
  expect((await prepareSource(script)).ok).toBe(false);
});
