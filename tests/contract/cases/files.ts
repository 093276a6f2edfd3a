/** Cases: the files of a run. */
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";

const MEBIBYTE = 1024 * 1024;

export const fileCases: EnvironmentCase[] = [
  {
    id: "files.read",
    sentence: "a script reads its files as bytes, text, JSON and lines, and lists them without asking anyone",
    async check({ run }) {
      const files = {
        "in/orders.csv": "\ufeffid,name\r\n1,Zoë\n2,😀",
        "in/data.json": '{"a":[1,2]}',
        "bytes.bin": Uint8Array.from({ length: 256 }, (_, index) => index),
        empty: "",
      };
      const { result, error } = await run(
        `const { files } = cyrnel;
        const lines = [];
        for await (const line of files.lines("in/orders.csv")) lines.push(line);
        const none = [];
        for await (const line of files.lines("empty")) none.push(line);
        const bytes = await files.read("bytes.bin", { offset: 250, length: 100 });
        return {
          names: (await files.list()).map(({ name }) => name), inside: (await files.list("in/")).length,
          stat: await files.stat("in/orders.csv"), exists: [await files.exists("empty"), await files.exists("nope")],
          bytes: [...bytes], isBytes: bytes instanceof Uint8Array, whole: (await files.read("bytes.bin")).length,
          text: await files.text("in/orders.csv"), json: await files.json("./in/data.json"), lines, none,
          nothing: (await files.read("empty")).length, emptyText: await files.text("empty"),
        };`,
        { files },
      );
      expect(error).toBeUndefined();
      expect(result).toEqual({
        names: ["bytes.bin", "empty", "in/data.json", "in/orders.csv"],
        inside: 2,
        stat: { name: "in/orders.csv", size: 25, contentType: "text/csv" },
        exists: [true, false],
        bytes: [250, 251, 252, 253, 254, 255],
        isBytes: true,
        whole: 256,
        text: "id,name\r\n1,Zoë\n2,😀",
        json: { a: [1, 2] },
        lines: ["id,name", "1,Zoë", "2,😀"],
        none: [],
        nothing: 0,
        emptyText: "",
      });
    },
  },
  {
    id: "files.write",
    sentence: "what a script writes, appends and removes is what it reads afterwards, and its artifacts",
    async check({ run }) {
      const { result, artifacts, error } = await run(
        `const { files } = cyrnel;
        const written = await files.write("out/report.txt", "Zoë\\n");
        await files.append("out/report.txt", "😀");
        await files.write("data.json", { a: [1, null] });
        await files.write("bytes.bin", Uint8Array.of(0, 255, 10));
        await files.append("given.log", "more\\n");
        await files.write("gone.txt", "x");
        await files.remove("gone.txt");
        await files.write("empty.txt", "");
        await Promise.all(Array.from({ length: 40 }, (_, index) => files.append("order.txt", index + " ")));
        return [written, await files.text("out/report.txt"), await files.text("given.log"), await files.exists("gone.txt"),
          (await files.list()).map(({ name, size }) => name + " " + size)];`,
        { files: { "given.log": "first\n", "untouched.txt": "as it was" } },
      );
      expect(error).toBeUndefined();
      const order = `${Array.from({ length: 40 }, (_, index) => index).join(" ")} `;
      expect(result).toEqual([
        { name: "out/report.txt", size: 5, contentType: "text/plain" },
        "Zoë\n😀",
        "first\nmore\n",
        false,
        [
          "bytes.bin 3",
          "data.json 14",
          "empty.txt 0",
          "given.log 11",
          `order.txt ${order.length}`,
          "out/report.txt 9",
          "untouched.txt 9",
        ],
      ]);
      expect(
        Object.fromEntries(
          Object.entries(artifacts).map(([name, bytes]) => [name, bytes.toString("latin1")]),
        ),
      ).toEqual({
        "out/report.txt": Buffer.from("Zoë\n😀").toString("latin1"),
        "data.json": '{"a":[1,null]}',
        "bytes.bin": "\u0000ÿ\n",
        "given.log": "first\nmore\n",
        "empty.txt": "",
        "order.txt": order,
      });
    },
  },
  {
    id: "files.order",
    sentence:
      "reads find what was asked to be written before them, awaited or not, and no more bytes than there are",
    async check({ run }) {
      const { result, error } = await run(
        `const { readFileSync } = await import("node:fs");
        const { files } = cyrnel;
        const text = (bytes) => new TextDecoder().decode(bytes);
        const later = [files.write("a.txt", "short"), files.read("a.txt"), files.write("b.txt", "x"), files.read("b.txt", { offset: 5 })];
        const found = (await Promise.all(later)).filter((bytes) => bytes instanceof Uint8Array).map(text);
        const writing = files.write("large.bin", new Uint8Array(200_000).fill(7));
        const large = readFileSync("large.bin");
        await writing;
        const cut = files.write("large.bin", "end");
        return [found, [large.length, large.at(-1), large.buffer.byteLength], text(readFileSync("large.bin")), (await cut).size];`,
        { files: { "a.txt": "given and longer", "b.txt": "given", "large.bin": Buffer.alloc(1_000_000, 1) } },
      );
      expect(error).toBeUndefined();
      expect(result).toEqual([["short", ""], [200_000, 7, 200_000], "end", 3]);
    },
  },
  {
    id: "files.moved",
    sentence:
      "files are copied, renamed, cut and written over in places without passing through the script's memory",
    async check({ run }) {
      const content = Buffer.alloc(60 * MEBIBYTE, "0123456789abcdef");
      const { result, artifacts, error } = await run(
        `import fs from "node:fs";
        fs.mkdirSync("out/deep", { recursive: true });
        fs.renameSync("large.bin", "out/deep/first.bin");
        await fs.promises.rename("out", "done");
        await fs.promises.truncate("done/deep/first.bin", 40_000_003);
        const handle = await fs.promises.open("done/deep/first.bin", "r+");
        await handle.write("<here>", 20_000_000);
        await handle.write("<end>", 40_000_010);
        await handle.close();
        fs.copyFileSync("small.txt", "copy.txt");
        fs.appendFileSync("small.txt", " more");
        fs.appendFileSync("copy.txt", " other");
        const tell = (work) => { try { return work(); } catch (error) { return error.code; } };
        return [fs.readdirSync("/", { recursive: true }), fs.statSync("done/deep/first.bin").size, fs.existsSync("out"), fs.readFileSync("small.txt", "utf8"),
          fs.readFileSync("copy.txt", "utf8"), tell(() => fs.renameSync("gone", "x")), tell(() => fs.renameSync("copy.txt", "done")),
          tell(() => fs.truncateSync("copy.txt", 1.5)), tell(() => fs.writeSync(fs.openSync("copy.txt", "r+"), "x", -1)), tell(() => fs.copyFileSync("copy.txt", "no/x"))];`,
        { files: { "large.bin": content, "small.txt": "small" }, memoryMb: 64, timeoutMs: 60_000 },
      );
      expect(error).toBeUndefined();
      expect(result).toEqual([
        ["copy.txt", "done", "done/deep", "done/deep/first.bin", "small.txt"],
        40_000_015,
        false,
        "small more",
        "small other",
        "ENOENT",
        "EISDIR",
        "ERR_OUT_OF_RANGE",
        "ERR_OUT_OF_RANGE",
        "ENOENT",
      ]);
      const expected = Buffer.concat([
        content.subarray(0, 40_000_003),
        Buffer.alloc(7),
        Buffer.from("<end>"),
      ]);
      expected.write("<here>", 20_000_000);
      expect(Object.keys(artifacts).sort()).toEqual(["copy.txt", "done/deep/first.bin", "small.txt"]);
      expect(artifacts["done/deep/first.bin"]?.equals(expected)).toBe(true);
    },
  },
  {
    id: "files.large",
    sentence: "files of many pieces arrive whole, whatever is cut where, beside timers and calls",
    async check({ run }) {
      const text = "aé€😀\n".repeat(100_000);
      const { result, artifacts, error } = await run(
        `const { files } = cyrnel;
        const timer = setInterval(() => {}, 1);
        const [text, bytes, echoed] = await Promise.all([files.text("in.txt"), files.read("in.txt"), tools.test.echo({ a: 1 })]);
        await Promise.all([files.write("text.txt", text), files.write("bytes.bin", bytes)]);
        let lines = 0;
        for await (const line of files.lines("text.txt")) if (line === "aé€😀") lines++;
        clearInterval(timer);
        return { lines, units: text.length, bytes: bytes.length, echoed };`,
        { files: { "in.txt": text } },
      );
      expect(error).toBeUndefined();
      const size = Buffer.byteLength(text);
      expect(result).toEqual({ lines: 100_000, units: text.length, bytes: size, echoed: { a: 1 } });
      expect(artifacts["text.txt"]?.equals(Buffer.from(text))).toBe(true);
      expect(artifacts["bytes.bin"]?.equals(Buffer.from(text))).toBe(true);
    },
  },
  {
    id: "files.lines-memory",
    sentence: "60 MiB are read line by line by a run with 64 MB of memory",
    async check({ run }) {
      const line = `${"0123456789abcdef".repeat(64)}\n`;
      const content = Buffer.alloc(60 * MEBIBYTE, line);
      const { result, error } = await run(
        `let lines = 0, characters = 0;
        for await (const line of cyrnel.files.lines("large.txt")) { lines++; characters += line.length; }
        return [lines, characters];`,
        { files: { "large.txt": content }, memoryMb: 64, timeoutMs: 60_000 },
      );
      expect(error).toBeUndefined();
      const lines = Math.ceil(content.length / line.length);
      expect(result).toEqual([lines, content.length - Math.floor(content.length / line.length)]);
    },
  },
  {
    id: "files.saved",
    sentence: "the answer of a call can become a file, which the script finds in its workspace",
    async check({ run }) {
      const { result, artifacts, error } = await run(
        `const { files } = cyrnel;
        const tell = (attempt) => attempt.then(() => "done", (error) => (error.code ?? error.name) + ": " + error.message);
        const { echo } = tools.test;
        const saved = await echo({ a: 1 }, { saveAs: "out/echo.json" });
        const again = await cyrnel.services.test.tools.echo.invoke({ b: 2 }, { saveAs: "out/echo.json" });
        return [saved, again, await files.json(saved.file), (await files.list()).map(({ name, size }) => name + " " + size),
          await tell(echo({}, { saveAs: "../up" })), await tell(echo({}, { saveas: "a" })), await tell(echo({}, null)),
          await Promise.all([{ c: 3 }].map(echo))];`,
      );
      expect(error).toBeUndefined();
      const refused =
        /^TypeError: tools.test.echo takes {saveAs: "name of a file", .*} as its second argument/;
      const file = { file: "out/echo.json", size: 7, contentType: "application/json" };
      expect(result).toEqual([
        file,
        file,
        { b: 2 },
        ["out/echo.json 7"],
        expect.stringMatching(/^invalid_file_name: .*"\.\."/),
        expect.stringMatching(refused),
        expect.stringMatching(refused),
        [{ c: 3 }],
      ]);
      expect(artifacts["out/echo.json"]?.toString()).toBe('{"b":2}');
    },
  },
  {
    id: "files.missing",
    sentence: "a file that is not there is named in the error, with what is there",
    async check({ run }) {
      const { result } = await run(
        `const tell = async (attempt) => { try { await attempt(); return "done"; } catch (error) { return error.code + ": " + error.message; } };
        const { files } = cyrnel;
        return [await tell(() => files.read("b.txt")), await tell(() => files.text("b.txt")), await tell(() => files.stat("b.txt")),
          await tell(() => files.remove("b.txt")), await tell(async () => { for await (const line of files.lines("b.txt")); })];`,
        { files: { "a.txt": "x" } },
      );
      expect(result).toEqual(
        Array(5).fill('file_not_found: There is no file "b.txt" in the workspace. There are "a.txt".'),
      );
    },
  },
  {
    id: "files.names",
    sentence: "a name that is no label within the workspace is refused, and nothing is written",
    async check({ run }) {
      const names = [
        ["", "is empty"],
        ["/etc/passwd", "begins with /"],
        ["../up", '".."'],
        ["a/../b", '".."'],
        ["a//b", "empty segment"],
        ["a/./b", '"."'],
        ["a\\b", "backslash"],
        ["a\u0000b", "control character"],
        ["a\nb", "control character"],
        ["e\u0301", "normalization form C"],
        ["x".repeat(256), "longer than 255 bytes"],
        ["a.txt/b", "cannot be a file and the folder"],
        ["dir", "cannot be a file and the folder"],
      ];
      const { result, artifacts } = await run(
        `const found = [];
        for (const name of cyrnel.input) {
          try { await cyrnel.files.write(name, "x"); found.push("written"); } catch (error) { found.push(error.message); }
        }
        return found;`,
        { files: { "a.txt": "x", "dir/file": "x" }, input: names.map(([name]) => name) },
      );
      for (const [index, [, words]] of names.entries()) expect(result[index]).toContain(words);
      expect(artifacts).toEqual({});
    },
  },
  {
    id: "files.limits",
    sentence: "writing more than a workspace holds ends the run with output_limit; what was complete is kept",
    async check({ run }) {
      const { state, error, artifacts } = await run(
        `await cyrnel.files.write("kept.txt", "kept");
        await cyrnel.files.write("large.txt", "x".repeat(3e6));
        return "not reached";`,
        { maxWorkspaceBytes: MEBIBYTE },
      );
      expect([state, error?.reason]).toEqual(["failed", "output_limit"]);
      expect(error?.message).toContain("at most 1000 files and 1048576 bytes are kept");
      expect(Object.keys(artifacts)).toEqual(["kept.txt"]);
    },
  },
  {
    id: "files.counted",
    sentence: "a run may write 1,000 files, and not one more",
    async check({ run }) {
      const code = `for (let index = 0; index < cyrnel.input; index++) await cyrnel.files.write("file-" + index, "x");`;
      const whole = await run(code, { input: 1000 });
      expect([whole.state, Object.keys(whole.artifacts).length]).toEqual(["success", 1000]);
      const more = await run(code, { input: 1001 });
      expect([more.state, more.error?.reason]).toEqual(["failed", "output_limit"]);
    },
  },
];
