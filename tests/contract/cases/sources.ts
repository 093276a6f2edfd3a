/** Cases: what a script may look like, and where its errors are. */
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";

/** Throws on a known place in every form: the message tells which. */
const FORMS: [form: string, code: string, line: number, column: number][] = [
  ["plain body", 'const a: number = 1;\n  throw new Error("plain");', 2, 9],
  ["first line", 'throw new Error("first")', 1, 7],
  ["after await", 'await null;\n\nthrow new Error("await")', 3, 7],
  [
    "fenced block",
    'Here you are:\n\n```ts\nconst a: string = "x";\n   throw new Error(a);\n```\nDone.',
    5,
    10,
  ],
  ["bare fence", '```\nthrow new Error("bare")\n```', 2, 7],
  ["function declaration", 'async function main(): Promise<void> {\n  throw new Error("f");\n}', 2, 9],
  ["function expression", '(function () {\n  throw new Error("fe");\n})', 2, 9],
  ["arrow", 'async (): Promise<void> => {\n  throw new Error("arrow");\n}', 2, 9],
  ["export default function", 'export default async function run() {\n  throw new Error("e");\n}', 2, 9],
  ["export default arrow", 'const a = 1;\nexport default () => { throw new Error("ea") }', 2, 30],
  [
    "types and enums",
    "enum E { A = 1 }\ninterface I { a: E }\nconst i: I = { a: E.A };\nthrow new Error(String(i.a))",
    4,
    7,
  ],
  ["CRLF", 'const a = 1;\r\nthrow new Error("crlf")\r\n', 2, 7],
  ["hashbang", '#!/usr/bin/env node\nthrow new Error("hash")', 2, 7],
  ["non-ASCII columns", 'const ä = "😀"; throw new Error(ä)', 1, 23],
  ["template literals", "const t = `\n\n`; throw new Error(t)", 3, 10],
];

const WRONG: [code: string, message: RegExp, line: number, column: number][] = [
  ["const a = ;", /Unexpected ";"/, 1, 11],
  ["const a = 1;\nconst ü = 'é' +;", /Unexpected ";"/, 2, 16],
  ["```ts\nconst a = 1;\nlet a = 2;\n```", /already been declared/, 3, 5],
  ["function f() {\n", /ends unexpectedly/, 2, 1],
  ["/* never closed", /ends unexpectedly/, 1, 16],
  ["const a = `x", /./, 1, 13],
  [
    'import net from "node:net";\nreturn net',
    /"node:net" is not available: a script has no network.*tools\./,
    1,
    1,
  ],
  [
    'const a = 1;\nimport "x";',
    /"x" (?:is not installed|cannot be imported: packages are not available)/,
    2,
    1,
  ],
  [
    'const a = "; importX"; import "x"; return a',
    /"x" (?:is not installed|cannot be imported: packages are not available)/,
    1,
    24,
  ],
  ['import { a } from "./a.ts";\nreturn a', /"\.\/a\.ts" is not among the files/, 1, 1],
  ['if (1) {\n  import { a } from "./a.ts";\n}\nreturn 1', /cannot be read here/, 2, 3],
  ["export {};\nexport const a = 1;\nreturn a", /export cannot be combined with a top-level return/, 2, 1],
  ["export type A = 1;\ndeclare namespace N { }\nreturn (;", /Unexpected ";"/, 3, 9],
  ["return 1; export default 2", /export cannot be combined with a top-level return/, 1, 11],
  ['export * from "x";', /"x" (?:is not installed|cannot be imported: packages are not available)/, 1, 1],
  ['const fs = require("fs")', /require is not available.*tools\./, 1, 12],
  ["return <div>hi</div>", /JSX is not available/, 1, 8],
  ["return import.meta.url", /import\.meta/, 1, 8],
  ["return /(/", /regular expression/, 1, 8],
  ["break", /./, 1, 1],
  ["```ts\n1\n```\n```ts\n2\n```", /2 fenced code blocks/, 4, 1],
  ["```python\nprint(1)\n```", /python/, 1, 1],
];

/** Each module of Node does its work, and what it gives is of the script's own realm. */
const NODE_MODULES = `import fs from "fs";
import { readFile, writeFile } from "node:fs/promises";
import * as path from "path";
import { Buffer } from "buffer";
import util from "util";
import { EventEmitter, once } from "events";
import { Readable, Transform } from "stream";
import { pipeline } from "stream/promises";
import { createHash } from "crypto";
import assert from "assert";
import { fileURLToPath } from "url";
import { setTimeout as sleep } from "timers/promises";
import { StringDecoder } from "string_decoder";
fs.mkdirSync("out", { recursive: true });
fs.writeFileSync(path.join("out", "a.txt"), Buffer.from("aGk=", "base64"));
await writeFile("out/b.txt", (await readFile("out/a.txt", "utf8")).toUpperCase());
await pipeline(Readable.from(["x", "y"]), new Transform({ transform(c, _, done) { done(null, c + "!") } }), fs.createWriteStream("out/c.txt"));
const emitter = new EventEmitter();
sleep(1).then(() => emitter.emit("go", 1));
const [gone] = await once(emitter, "go");
let failed; try { assert.deepEqual({ a: 1 }, { a: 2 }) } catch (e) { failed = e.code }
let missing; try { fs.readFileSync("none") } catch (e) { missing = [e.code, e instanceof Error] }
let made; try { made = fs.readFileSync.constructor("return process")() } catch (e) { made = e.name }
return [fs.readdirSync("out").map((n) => fs.readFileSync("out/" + n, "utf8")), gone, failed, missing, made,
  util.inspect({ a: { b: {} } }, { depth: 0 }), createHash("sha1").update("").digest("hex").slice(0, 8), fileURLToPath("file:///x"), new StringDecoder().end(Buffer.from("z"))];`;

export const sourceCases: EnvironmentCase[] = [
  {
    id: "source.node-modules",
    sentence: "modules of Node can be imported, and work on the workspace",
    async check({ run }) {
      const { result, error, artifacts } = await run(NODE_MODULES, { files: { "in.txt": "in" } });
      expect(error).toBeUndefined();
      expect(result).toEqual([
        ["hi", "HI", "x!y!"],
        1,
        "ERR_ASSERTION",
        ["ENOENT", true],
        "EvalError",
        "{ a: [Object] }",
        "da39a3ee",
        "/x",
        "z",
      ]);
      expect(Object.keys(artifacts).sort()).toEqual(["out/a.txt", "out/b.txt", "out/c.txt"]);
    },
  },
  {
    id: "source.files",
    sentence: "a script imports files of its workspace, and an error in one names it",
    async check({ run }) {
      const files = {
        "lib/x.ts":
          'import data from "../d.json";\nexport const x: number = data.n;\nexport function bad(): never {\n  throw new Error("bad");\n}',
        "d.json": '{"n": 4}',
        "wrong.ts": "const a = ;",
      };
      const good = await run(
        'import { x } from "./lib/x.ts";\nconst { bad } = await import("./lib/x");\nreturn [x, typeof bad]',
        { files },
      );
      expect([good.error, good.result]).toEqual([undefined, [4, "function"]]);
      const thrown = await run('import { bad } from "./lib/x.ts";\nbad();\nreturn 1', { files });
      expect(thrown.error).toMatchObject({ file: "lib/x.ts", line: 4, column: 9, reason: "script_error" });
      const rejected = await run(
        'import { bad } from "./lib/x.ts";\nvoid (async () => bad())();\nawait new Promise((r) => setTimeout(r, 50));',
        { files },
      );
      expect(rejected.error).toMatchObject({ file: "lib/x.ts", line: 4, column: 9 });
      const wrong = await run('import "./wrong.ts";', { files });
      expect(wrong.error).toMatchObject({ file: "wrong.ts", line: 1, column: 11, reason: "syntax_error" });
      const own = await run('import { x } from "./lib/x.ts";\nthrow new Error(String(x))', { files });
      expect(own.error).toMatchObject({ line: 2, column: 7 });
      expect(own.error).not.toHaveProperty("file");
    },
  },
  {
    id: "source.no-text",
    sentence: "an imported file that is no UTF-8 is refused, and none is taken with other characters",
    async check({ run }) {
      const image = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe);
      const files = {
        "img/p.png": image,
        "marked.md": "\ufeffmarked ü",
        "lib/x.ts": 'import p from "../img/p.png"; export { p };',
        "latin.ts": Buffer.from('export const u = "ü";', "latin1"),
      };
      const says = (name: string) =>
        `${name} is not UTF-8 text: read its bytes with cyrnel.files.read("${name}"), or save it as UTF-8.`;
      const refused = async (code: string) => (await run(code, { files })).error;
      expect(await refused('return 1;\nimport p from "./img/p.png";')).toMatchObject({
        message: says("img/p.png"),
        reason: "syntax_error",
        line: 2,
        column: 1,
      });
      expect(await refused('return await import("./img/p.png")')).toMatchObject({ line: 1, column: 14 });
      expect((await refused('import { u } from "./latin"; return u'))?.message).toBe(says("latin.ts"));
      expect((await refused('import { p } from "./lib/x.ts"; return p'))?.message).toBe(says("img/p.png"));
      expect((await run('import m from "./marked.md"; return m', { files })).result).toBe("marked ü");
      // Cut in the middle of a character, with a mark or without one: too long is all it is.
      for (const text of [`${"ü".repeat(524_288)}x`, `\ufeff${"x".repeat(1_048_576)}`]) {
        const long = await run('import t from "./t.txt"; return t.length', { files: { "t.txt": text } });
        expect(long.error?.message).toContain("at most 1024 KiB together");
      }
    },
  },
  {
    id: "source.results",
    sentence: "every form of source gives its result",
    async check({ run }) {
      const forms: [string, unknown][] = [
        ["const x: number = 1; return x + (await Promise.resolve(2))", 3],
        ["Some prose.\n```typescript\nreturn { a: 1 as number }\n```\nMore prose.", { a: 1 }],
        ["async function main(): Promise<string> { return 'f' }", "f"],
        ["function main() { return 'g' }", "g"],
        ["async () => 'arrow'", "arrow"],
        ["() => { return [1] }", [1]],
        ["(async () => { return 'iife' })()", "iife"],
        ["export default async function () { return 'ed' }", "ed"],
        ["export const helper = 2;\nexport default () => helper * 2", 4],
        ["export default { value: 1 }", { value: 1 }],
        ["const six = 6; export default six * 7;", 42],
        ["function f() { return 'one line' } export { f as default }", "one line"],
        ["const s = `; export default 3`; return s", "; export default 3"],
        ["namespace N { export const x = 3 }\nreturn N.x", 3],
        ["declare namespace N { const x: { '}': 1 } /* } */ }\nawait 1; return 'dn'", "dn"],
        ["declare module 'm' { export function f(): void }\nreturn 'dm'", "dm"],
        ["export type A = { a: 1 };\nconst x: A = { a: 1 };\nawait 1; return x.a", 1],
        ["export interface I { a: 1 }\nexport declare const q: I;\nawait 1; return 'ei'", "ei"],
        ["export {};\nexport type { B } from './types';\nreturn 'en'", "en"],
        ["```ts\nexport {};\ndeclare namespace A.B { type T = 1 }\nreturn 'fenced'\n```", "fenced"],
        ["export {};\nconst s = `\nexport {};\n`; await 1; return s", "\nexport {};\n"],
        ["class A { constructor(private readonly n = 5) {} get v() { return this.n } }\nreturn new A().v", 5],
        ["const twice = <T,>(x: T): T[] => [x, x]; return twice('a' satisfies string)", ["a", "a"]],
        ["\uFEFFreturn 'bom'", "bom"],
      ];
      for (const [code, expected] of forms) {
        const { result, error } = await run(code);
        expect([code, error, result]).toEqual([code, undefined, expected]);
      }
    },
  },
  {
    id: "source.last-value",
    sentence: "without a return, the value of the last expression is the result",
    async check({ run }) {
      const forms: [string, unknown][] = [
        ["const x = { a: 1 };\nx", { a: 1 }],
        ["await Promise.resolve(4)", 4],
        ["Promise.resolve([5]).then((list) => list.length)", 1],
        ["async function main() { return { answer: 42 } }\nmain();", { answer: 42 }],
        ["const main = async () => 6;\nawait main();", 6],
        ["main(); // starts\nasync function main() { return 7 }", 7],
        ["const main = async () => { throw 1 };\nmain().catch((e) => e + 1)", 2],
        ["function helper() { return 8 }\nhelper()", 8],
        ["const a = 1; ({ a, b: [a] });", { a: 1, b: [1] }],
        ["let a; a = { b: 9 }", { b: 9 }],
        ["1, 'two'", "two"],
        ["import { basename } from 'node:path';\nbasename('a/b.c')", "b.c"],
        ["import { basename } from 'node:path';\nconst main = async () => basename('a/d');\nmain();", "d"],
        ["export const unused = 1;\nconst x = unused + 1;\nx * 5", 10],
        ["export async function run() { return 8 }", 8],
        ["import { sep } from 'node:path';\nexport function run() { return sep }", "/"],
        ["// nothing but a comment", null],
        ["const x = 1;", null],
        ["function a() { return 1 }\nfunction b() { return 2 }", null],
        ["export function a() { return 1 }\nexport function b() { return 2 }", null],
        ["1; const x = 2;", null],
        ["if (1) { 2 }", null],
        ["console.log(1)", null],
        ["if (0) return 1;\n2", null],
        ["for (const x of [1]) { if (x) return 3 }\n2", 3],
        ["[1].map((x) => { return x + 1 })", [2]],
        ["export default 1;\n2", 1],
        ["namespace N { export const a = 1 }", null],
        ["let n = 0; const dec = (v) => v;\n@dec class A { @dec m() { n++ } }", null],
      ];
      for (const [code, expected] of forms) {
        const { result, error, warnings } = await run(code);
        expect([code, error, result ?? null, warnings ?? []]).toEqual([code, undefined, expected, []]);
      }
      const thrown = await run("const a = 1;\n  a.b.c()");
      expect(thrown.error).toMatchObject({ line: 2, column: 7 });
    },
  },
  {
    id: "source.last-value-dropped",
    sentence:
      "a last expression that JSON cannot hold is dropped with a warning, and returning it is an error",
    async check({ run }) {
      const dropped = [
        "() => 1, Math.max",
        "let f; f = () => 1",
        "const list = { a: [Symbol('x')] }; list",
        "const o = {}; o.self = o",
        "class A { #x = 1 }; new A()",
        "const o = { toJSON() { throw new Error('no') } }; o",
        "[1].map(async (x) => x)",
        "const t = 'x'.repeat(9_000_000); t",
      ];
      for (const code of dropped) {
        const { state, result, warnings } = await run(code);
        expect([code, state, result ?? null]).toEqual([code, "success", null]);
        expect(warnings).toEqual([
          {
            code: "value_not_json",
            message: expect.stringMatching(
              /^The value of the last expression is not the result: .+ Return what/,
            ),
            path: "result",
          },
        ]);
        const returned = await run(code.replace(/[^;\n]*$/, "return ($&)"));
        expect([code, returned.state]).toEqual([code, "failed"]);
      }
    },
  },
  {
    id: "source.started-main",
    sentence: "a last statement that starts an async function is waited for",
    async check({ run }) {
      for (const start of [
        "main()",
        "void main()",
        "main().catch((e) => console.error(e))",
        "(async () => { await main() })()",
      ]) {
        const { stdout, state } = await run(
          `async function main() { await new Promise((r) => setTimeout(r, 10)); console.log("done"); }\n${start};`,
        );
        expect([start, state, stdout]).toEqual([start, "success", "done\n"]);
      }
    },
  },
  {
    id: "source.positions",
    sentence:
      "an error in any form of source has the submitted line and column, and a stack of script frames only",
    async check({ run }) {
      for (const [form, code, line, column] of FORMS) {
        const { state, error } = await run(code);
        expect([form, state, error?.reason, error?.line, error?.column]).toEqual([
          form,
          "failed",
          "script_error",
          line,
          column,
        ]);
        const frames = (error?.stack ?? "").split("\n").filter((text) => text.startsWith("    at "));
        expect(frames.length).toBeGreaterThan(0);
        for (const frame of frames)
          expect(frame).toMatch(/^ {4}at (?:async )?(?:\S+ \()?script\.ts:\d+:\d+\)?$/);
      }
    },
  },
  {
    id: "source.syntax-errors",
    sentence: "a syntax error has its submitted place, and nothing is executed",
    async check({ run }) {
      for (const [wrong, message, line, column] of WRONG) {
        const { state, error, stdout } = await run(wrong);
        expect([wrong, state, error?.reason]).toEqual([wrong, "failed", "syntax_error"]);
        expect(error?.name).toBe("SyntaxError");
        expect(error?.message).toMatch(message);
        expect([wrong, error?.line, error?.column]).toEqual([wrong, line, column]);
        expect(stdout).toBe("");
      }
    },
  },
  {
    id: "source.wrapper",
    sentence: "source that closes the wrapper around it is a syntax error",
    async check({ run }) {
      for (const code of [
        "}); (async () => {",
        "}), (async () => {",
        "}).call(async () => {",
        "})(); console.log('out'); (() => {",
        "}}",
      ]) {
        const { state, error, stdout } = await run(`console.log("in");\n${code}`);
        expect([code, state, error?.reason, stdout]).toEqual([code, "failed", "syntax_error", ""]);
      }
    },
  },
  {
    id: "source.odd",
    sentence: "empty sources, comments, odd line ends and 100 kB of source run",
    async check({ run }) {
      const large = `const data = ${JSON.stringify("x".repeat(90_000))};\n${"// filler\n".repeat(900)}throw new Error("end")`;
      for (const code of [
        "",
        "   \n",
        "// only a comment",
        "/* block */",
        "<!-- html\n",
        "const a = '\u2028';\u2029",
      ]) {
        const { state, error } = await run(code);
        expect([code, state, error]).toEqual([code, "success", undefined]);
      }
      const { error } = await run(large);
      expect([error?.message, error?.line, error?.column]).toEqual(["end", 902, 7]);
    },
  },
];
