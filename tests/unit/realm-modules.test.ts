/** Modules of Node in a script: what agents write from habit, each as they write it. */
import { describe, expect, test } from "vitest";
import { prepareSource } from "#runner/preparer/prepare.ts";
import { type RealmMessage, runCode } from "./realm-harness.ts";

/** A workspace as the host answers it. */
function openWorkspace(given: Record<string, string> = {}) {
  const contents = new Map<string, Buffer>(
    Object.entries(given).map(([name, text]) => [name, Buffer.from(text)]),
  );
  const answer = ({ method, params }: RealmMessage, attachment: Buffer | null): unknown => {
    const { name, offset, length, asText, mode, at, text, to, moves, size } = params;
    const held = contents.get(name) ?? Buffer.alloc(0);
    if (method === "readFile") {
      const piece = held.subarray(offset, offset + length);
      return asText ? { text: piece.toString(), bytes: piece.length } : piece;
    }
    if (method === "removeFile") return contents.delete(name) ? null : null;
    const put = (target: string, bytes: Buffer) => {
      contents.set(target, bytes);
      return { size: bytes.length };
    };
    if (method === "copyFile") {
      if (moves) contents.delete(name);
      return put(to, held);
    }
    if (method === "resizeFile")
      return put(name, Buffer.concat([held, Buffer.alloc(size)]).subarray(0, size));
    const piece = attachment ?? Buffer.from(text ?? "");
    if (mode === "append") return put(name, Buffer.concat([held, piece]));
    if (mode === "replace") return put(name, piece);
    const head = Buffer.concat([held, Buffer.alloc(at)]).subarray(0, at);
    return put(name, Buffer.concat([head, piece, held.subarray(at + piece.length)]));
  };
  const files = () =>
    [...contents].map(([name, { length: size }]) => ({ name, size, contentType: "text/plain" }));
  return { answer, files, textOf: (name: string) => contents.get(name)?.toString() };
}

async function run(script: string, given?: Record<string, string>) {
  const workspace = openWorkspace(given);
  const prepared = await prepareSource(script);
  if (!prepared.ok) throw new Error(JSON.stringify(prepared.error));
  const { mappings, sources, code } = prepared;
  const { answer, files } = workspace;
  const ran = await runCode(code, { mappings, sources, answer, files: files() });
  return { ...ran, workspace };
}

async function resultOf(script: string, given?: Record<string, string>): Promise<unknown> {
  const { end } = await run(script, given);
  if (!end.ok) throw new Error(end.error.stack || end.error.message);
  return end.result;
}

const SNIPPETS: [habit: string, script: string, result: unknown][] = [
  [
    "default fs",
    'import fs from "fs"; fs.writeFileSync("a.txt", "hi"); return fs.readFileSync("a.txt", "utf8")',
    "hi",
  ],
  [
    "namespace fs",
    'import * as fs from "node:fs"; return [fs.existsSync("in.csv"), fs.existsSync("no"), fs.existsSync("dir")]',
    [true, false, true],
  ],
  [
    "flags as numbers",
    `import fs, { constants as c } from "fs";
    const tell = (work) => { try { return work(); } catch (error) { return error.code; } };
    const put = (name, flags, text) => tell(() => { const fd = fs.openSync(name, flags); fs.writeSync(fd, text); fs.closeSync(fd); return fs.readFileSync(name, "utf8"); });
    const fd = fs.openSync("in.csv", c.O_RDONLY), bytes = new Uint8Array(2);
    return [fs.readSync(fd, bytes), tell(() => fs.writeSync(fd, "x")), put("n", c.O_WRONLY | c.O_CREAT | c.O_EXCL, "one"), put("n", c.O_WRONLY | c.O_CREAT | c.O_EXCL, "x"),
      put("n", c.O_WRONLY | c.O_APPEND, " two"), put("n", c.O_RDWR, "ONE"), put("n", c.O_WRONLY | c.O_TRUNC, "new"), put("none", c.O_RDWR, "x"), put("n", 3, "x"), put("n", 1 << 30, "x")]`,
    [
      2,
      "EBADF",
      "one",
      "EEXIST",
      "one two",
      "ONE two",
      "new",
      "ENOENT",
      "ERR_INVALID_ARG_VALUE",
      "ERR_INVALID_ARG_VALUE",
    ],
  ],
  [
    "fs.promises",
    'import { promises as fs } from "fs"; return (await fs.readFile("in.csv", "utf-8")).split("\\n").length',
    3,
  ],
  [
    "fs/promises",
    'import { readFile, writeFile } from "node:fs/promises"; await writeFile("o.json", JSON.stringify({ a: 1 }, null, 2)); return JSON.parse(await readFile("o.json", { encoding: "utf8" }))',
    { a: 1 },
  ],
  [
    "dynamic",
    'const fs = await import("node:fs/promises"); const { default: path } = await import("path"); return [(await fs.readdir(".")).sort(), path.sep]',
    [["dir", "in.csv"], "/"],
  ],
  [
    "a Buffer without an encoding",
    'import { readFileSync } from "fs"; import { Buffer } from "buffer"; const b = readFileSync("in.csv"); return [Buffer.isBuffer(b), b.toString("hex").slice(0, 4), b.length]',
    [true, "612c", 8],
  ],
  [
    "mkdir and below it",
    'import fs from "fs/promises"; await fs.mkdir("out/deep", { recursive: true }); await fs.writeFile("out/deep/x.txt", "x"); return [await fs.readdir("out"), await fs.readdir("out", { recursive: true })]',
    [["deep"], ["deep", "deep/x.txt"]],
  ],
  [
    "an empty folder",
    'import fs from "fs"; fs.mkdirSync("e"); const there = fs.readdirSync("."); fs.rmdirSync("e"); return [there, fs.existsSync("e")]',
    [["dir", "e", "in.csv"], false],
  ],
  [
    "withFileTypes",
    'import { readdirSync } from "fs"; return readdirSync("/", { withFileTypes: true }).map((d) => [d.name, d.isDirectory(), d.isFile(), d.parentPath])',
    [
      ["dir", true, false, "/"],
      ["in.csv", false, true, "/"],
    ],
  ],
  [
    "stat",
    'import { statSync, promises } from "fs"; const s = statSync("in.csv"); const d = await promises.stat("dir"); return [s.size, s.isFile(), s.isDirectory(), s.mtime instanceof Date, d.isDirectory()]',
    [8, true, false, true, true],
  ],
  [
    "ENOENT",
    'import { readFileSync } from "fs"; try { readFileSync("none.txt") } catch (e) { return [e.code, e.errno, e.syscall, e.path, e.message, e instanceof Error] }',
    ["ENOENT", -2, "open", "none.txt", "ENOENT: no such file or directory, open 'none.txt'", true],
  ],
  [
    "ENOENT of promises",
    'import { readFile } from "fs/promises"; return readFile("none.txt").catch((e) => [e.code, e.path])',
    ["ENOENT", "none.txt"],
  ],
  [
    "EISDIR, EEXIST, ENOTEMPTY, ENOTDIR",
    'import fs from "fs"; const codes = []; for (const f of [() => fs.readFileSync("dir"), () => fs.writeFileSync("dir", ""), () => fs.mkdirSync("dir"), () => fs.rmdirSync("dir"), () => fs.readdirSync("in.csv"), () => fs.writeFileSync("in.csv/x", ""), () => fs.writeFileSync("no/x", ""), () => fs.rmSync("dir"), () => fs.writeFileSync("in.csv", "", { flag: "wx" })]) try { f(); codes.push(null) } catch (e) { codes.push(e.code) } return codes',
    ["EISDIR", "EISDIR", "EEXIST", "ENOTEMPTY", "ENOTDIR", "ENOTDIR", "ENOENT", "ERR_FS_EISDIR", "EEXIST"],
  ],
  [
    "callbacks",
    'import fs from "fs"; return new Promise((done) => fs.readFile("in.csv", "utf8", (e, text) => fs.stat("none", (error) => done([e, text.length, error.code]))))',
    [null, 8, "ENOENT"],
  ],
  [
    "append, copy, rename, unlink",
    'import fs from "fs"; fs.appendFileSync("l", "a"); fs.appendFileSync("l", "b"); fs.copyFileSync("l", "m"); fs.renameSync("m", "n"); fs.unlinkSync("l"); return [fs.readFileSync("n", "utf8"), fs.existsSync("l"), fs.existsSync("m")]',
    ["ab", false, false],
  ],
  [
    "rm -r",
    'import fs from "fs/promises"; await fs.rm("dir", { recursive: true, force: true }); await fs.rm("never", { force: true }); return fs.readdir(".")',
    ["in.csv"],
  ],
  [
    "cp and rename of a folder",
    'import fs from "fs/promises"; await fs.cp("dir", "copy", { recursive: true }); await fs.rename("copy", "moved"); return [await fs.readFile("moved/sub/b.txt", "utf8"), (await fs.readdir(".")).sort()]',
    ["b", ["dir", "in.csv", "moved"]],
  ],
  [
    "a FileHandle",
    'import { open } from "fs/promises"; const h = await open("h", "w+"); await h.write("hello"); await h.write("J", 0); const b = Buffer.alloc(3); const { bytesRead } = await h.read(b, 0, 3, 1); await h.close(); import { Buffer } from "buffer"; return [bytesRead, b.toString()]',
    [3, "ell"],
  ],
  [
    "descriptors",
    'import fs from "fs"; const fd = fs.openSync("in.csv", "r"); const b = new Uint8Array(4); const n = fs.readSync(fd, b, 0, 4, null); const m = fs.readSync(fd, b); fs.closeSync(fd); try { fs.readSync(fd, b) } catch (e) { return [n, m, e.code] }',
    [4, 4, "EBADF"],
  ],
  [
    "streams",
    'import fs from "fs"; import { pipeline } from "stream/promises"; import { Transform } from "stream"; await pipeline(fs.createReadStream("in.csv"), new Transform({ transform(c, e, done) { done(null, c.toString().toUpperCase()) } }), fs.createWriteStream("up.csv")); return fs.readFileSync("up.csv", "utf8")',
    "A,B\n1,2\n",
  ],
  [
    "lines of a stream",
    'import { open } from "fs/promises"; const lines = []; for await (const line of (await open("in.csv")).readLines()) lines.push(line); return lines',
    ["a,b", "1,2"],
  ],
  [
    "a range of a stream",
    'import { createReadStream } from "fs"; let text = ""; for await (const c of createReadStream("in.csv", { start: 2, end: 4, encoding: "utf8" })) text += c; return text',
    "b\n1",
  ],
  [
    "paths with dots and URLs",
    'import fs from "fs"; fs.writeFileSync("./x/../y.txt", "1"); return [fs.readFileSync("/y.txt", "utf8"), fs.readFileSync(new URL("file:///y.txt"), "utf8"), fs.existsSync("../../in.csv")]',
    [["1"], ["1"], true].flat(),
  ],
  [
    "encodings",
    'import fs from "fs"; fs.writeFileSync("b", "aGk=", "base64"); fs.writeFileSync("c", new Uint8Array([255, 254])); return [fs.readFileSync("b", "latin1"), fs.readFileSync("b", "base64"), [...fs.readFileSync("c")]]',
    ["hi", "aGk=", [255, 254]],
  ],
  [
    "what is not there",
    'import { watch } from "fs"; try { watch("x") } catch (e) { return e.message.includes("fs.watch is not available") }',
    true,
  ],
  [
    "what is not there, with what does its work",
    'import fs from "fs"; const told = (name) => { try { fs[name]("x") } catch (e) { return e.message } }; return ["glob", "openAsBlob", "opendir", "globSync"].map(told)',
    [
      "fs.glob is not available: readdir(folder, { recursive: true }) gives all names below a folder.",
      "fs.openAsBlob is not available: new Blob([await cyrnel.files.read(name)]) makes one.",
      "fs.opendir is not available: readdir(folder, { withFileTypes: true }) gives what is in it.",
      "fs.glob is not available: readdir(folder, { recursive: true }) gives all names below a folder.",
    ],
  ],
  [
    "path",
    'import * as path from "path"; import { join, basename } from "node:path"; return [path.join("a", "..", "b"), path.resolve("x", "y"), path.relative("a/b", "a/c"), basename("/a/b.ts", path.extname("b.ts")), path.parse("/x/y.z").name, join("q", "r"), path.isAbsolute("/a")]',
    ["b", "/x/y", "../c", "b", "y", "q/r", true],
  ],
  [
    "Buffer round trips",
    'import { Buffer } from "node:buffer"; const text = "h\u00e4 \u{1f600}"; return ["utf8", "hex", "base64", "base64url", "utf16le"].map((e) => Buffer.from(Buffer.from(text).toString(e === "utf16le" ? "hex" : e), e === "utf16le" ? "hex" : e).toString()).every((t) => t === text)',
    true,
  ],
  [
    "Buffer methods",
    'import { Buffer } from "buffer"; const b = Buffer.alloc(8); b.writeUInt32BE(0xdeadbeef, 0); b.writeInt16LE(-2, 4); return [b.readUInt32BE(0), b.readInt16LE(4), b.toString("hex"), Buffer.concat([b, Buffer.from("x")]).length, Buffer.compare(Buffer.from("a"), Buffer.from("b")), b.equals(b.subarray()), Buffer.isEncoding("base64url"), JSON.stringify(Buffer.from("a"))]',
    [0xdeadbeef, -2, "deadbeeffeff0000", 9, -1, true, true, '{"type":"Buffer","data":[97]}'],
  ],
  [
    "EventEmitter",
    'import EventEmitter, { once } from "events"; class A extends EventEmitter {} const a = new A(); const seen = []; a.on("x", (v) => seen.push(v)); a.once("x", (v) => seen.push(-v)); setTimeout(() => { a.emit("x", 1); a.emit("x", 2) }, 1); const [first] = await once(a, "x"); return [first, seen, a.listenerCount("x")]',
    [1, [1, -1, 2], 1],
  ],
  [
    "events.on",
    'import { EventEmitter, on } from "node:events"; const e = new EventEmitter(); setTimeout(() => { e.emit("v", 1); e.emit("v", 2) }, 1); const seen = []; for await (const [v] of on(e, "v")) { seen.push(v); if (v === 2) break } return [seen, e.listenerCount("v")]',
    [[1, 2], 0],
  ],
  [
    "an error event",
    'import { EventEmitter } from "events"; try { new EventEmitter().emit("error", new Error("loud")) } catch (e) { return e.message }',
    "loud",
  ],
  [
    "Readable.from and for await",
    'import { Readable } from "stream"; const out = []; for await (const x of Readable.from([1, 2, 3]).map((v) => v * 2)) out.push(x); return out',
    [2, 4, 6],
  ],
  [
    "finished with a callback",
    'import { PassThrough, finished } from "stream"; const p = new PassThrough(); p.resume(); p.end("x"); return new Promise((done) => finished(p, (e) => done(e ?? "over")))',
    "over",
  ],
  [
    "inspect and format",
    'import util, { inspect, format } from "util"; return [inspect({ a: { b: { c: {} } } }, { depth: 0 }), format("%s %d %j", "a", 1.5, [1]), util.inspect("x")]',
    ["{ a: [Object] }", "a 1.5 [1]", "'x'"],
  ],
  [
    "promisify and callbackify",
    'import { promisify, callbackify } from "util"; const add = promisify((a, b, cb) => cb(null, a + b)); const bad = promisify((cb) => cb(new Error("no"))); const sum = await add(1, 2); return [sum, await bad().catch((e) => e.message), await new Promise((done) => callbackify(async (x) => x)(4, (e, v) => done(v)))]',
    [3, "no", 4],
  ],
  [
    "isDeepStrictEqual and types",
    'import { isDeepStrictEqual, types, inherits } from "util"; return [isDeepStrictEqual({ a: [1, new Set([{}])] }, { a: [1, new Set([{}])] }), isDeepStrictEqual([1], ["1"]), types.isPromise(Promise.resolve()), types.isRegExp(/x/), typeof inherits]',
    [true, false, true, true, "function"],
  ],
  [
    "createHash",
    'import { createHash } from "crypto"; import crypto from "node:crypto"; return [createHash("sha256").update("abc").digest("hex"), crypto.createHash("md5").update("a").update("b").digest("base64"), crypto.createHash("SHA-1").update("x").digest("hex").length, crypto.hash("sha512", "x").length]',
    ["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "GH70Q2Ei0cwvQNwrkvDroA==", 40, 128],
  ],
  [
    "createHmac and derivation",
    'import { createHmac, pbkdf2Sync, scryptSync, hkdfSync } from "crypto"; return [createHmac("sha256", "key").update("data").digest("hex"), pbkdf2Sync("p", "s", 10, 16, "sha256").toString("hex"), scryptSync("p", "s", 8, { N: 16 }).length, hkdfSync("sha256", "k", "s", "i", 4).byteLength]',
    [
      "5031fe3d989c6d1537a013fa6e739da23463fdaec3b70137d828e36ace221bd0",
      "1d6f1f7051b420b93e23f010e486cfea",
      8,
      4,
    ],
  ],
  [
    "secret keys",
    'import { createHmac, createSecretKey, KeyObject, createPrivateKey } from "crypto"; const k = createSecretKey("6b6579", "hex"); const tell = (f) => { try { return f() } catch (e) { return e.message.slice(0, 40) } }; return [createHmac("sha256", k).update("data").digest("hex").slice(0, 8), k instanceof KeyObject, k.type, k.symmetricKeySize, k.export().toString(), k.export({ format: "jwk" }), k.equals(createSecretKey(k.export())), k.equals(createSecretKey("kez", "utf8")), tell(() => createPrivateKey("x")), tell(() => new KeyObject("private", k.export()))]',
    [
      "5031fe3d",
      true,
      "secret",
      3,
      "key",
      { kty: "oct", k: "a2V5" },
      true,
      false,
      "crypto.createPrivateKey is not available",
      "A script has secret keys only: use creat",
    ],
  ],
  [
    "random values",
    'import { randomBytes, randomUUID, randomInt, timingSafeEqual } from "crypto"; const i = randomInt(5, 9); return [randomBytes(70000).length, /^[0-9a-f-]{36}$/.test(randomUUID()), i >= 5 && i < 9, timingSafeEqual(randomBytes(4), randomBytes(4))]',
    [70000, true, true, false],
  ],
  [
    "keys are refused",
    'import crypto from "crypto"; try { crypto.createCipheriv("aes-256-cbc") } catch (e) { return e.message.includes("crypto.createCipheriv is not available") }',
    true,
  ],
  [
    "assert",
    'import assert from "assert"; const errors = []; for (const f of [() => assert(0), () => assert.equal(1, 2), () => assert.strictEqual(1, "1"), () => assert.deepEqual({ a: 1 }, { a: 2 }), () => assert.deepStrictEqual([1], [1]), () => assert.throws(() => {}), () => assert.throws(() => { throw new TypeError("t") }, { name: "TypeError" }), () => assert.match("abc", /x/), () => assert.ok("x")]) try { f(); errors.push(null) } catch (e) { errors.push(e.name + " " + e.code) } return errors',
    [..."xxxx"]
      .map(() => "AssertionError ERR_ASSERTION")
      .concat([null, "AssertionError ERR_ASSERTION", null, "AssertionError ERR_ASSERTION", null] as never),
  ],
  [
    "assert/strict and rejects",
    'import assert, { AssertionError } from "node:assert/strict"; try { assert.equal(1, "1") } catch (e) { await assert.rejects(Promise.reject(new Error("why")), /why/); return [e instanceof AssertionError, e.actual, e.expected, e.message] }',
    [true, 1, "1", "Expected values to be strictly equal:\n\n1 !== '1'\n"],
  ],
  [
    "url",
    'import { fileURLToPath, pathToFileURL, URL } from "url"; import url from "url"; return [fileURLToPath("file:///a%20b"), pathToFileURL("/a b#c").href, url.parse("http://u:p@h.test:80/p?q=1#f").hostname, url.parse("/x?y=1", true).query.y, url.format({ protocol: "https", host: "h.test", pathname: "/x", query: { a: 1 } }), url.resolve("http://a.test/b/c", "../d"), new URL("http://x.test").host]',
    ["/a b", "file:///a%20b%23c", "h.test", "1", "https://h.test/x?a=1", "http://a.test/d", "x.test"],
  ],
  [
    "timers/promises",
    'import { setTimeout as sleep } from "timers/promises"; return sleep(1, "slept")',
    "slept",
  ],
  [
    "string_decoder",
    'import { StringDecoder } from "string_decoder"; import { Buffer } from "buffer"; const d = new StringDecoder("utf8"); return d.write(Buffer.from([0xc3])) + d.write(Buffer.from([0xa4])) + d.end()',
    "\u00e4",
  ],
  [
    "the same module by either name",
    'import a from "fs"; import b from "node:fs"; import * as c from "fs/promises"; return [a === b, a.promises.readFile === c.readFile]',
    [true, true],
  ],
];

describe("written from habit", () => {
  test.each(SNIPPETS)("%s", async (_, script, expected) => {
    expect(
      await resultOf(script, { "in.csv": "a,b\n1,2\n", "dir/a.txt": "a", "dir/sub/b.txt": "b" }),
    ).toEqual(expected);
  });
});

test("a name that a module does not have is refused before the script runs", async () => {
  const { end, stdout } = await run(
    'console.log("ran");\nimport { nothing } from "node:path"; return nothing',
  );
  expect(end.error).toMatchObject({
    name: "SyntaxError",
    message: 'The module node:path has no export named "nothing" here.',
  });
  expect(stdout).toBe("");
});

test("a script that imports nothing loads none of it", async () => {
  const { global } = await run("return 1");
  expect([typeof global.Buffer, typeof global.process, typeof global.require]).toEqual([
    "undefined",
    "undefined",
    "undefined",
  ]);
});
