/** Cases: blobs and streams, to and from the files of a run, of the web and of Node. */
import { createHash, createHmac } from "node:crypto";
import { expect } from "vitest";
import type { EnvironmentCase } from "../bench.ts";
import { WEB } from "../web.ts";

const MEBIBYTE = 1024 * 1024;

export const streamCases: EnvironmentCase[] = [
  {
    id: "files.streams",
    sentence: "blobs and streams are written as they are, and a stream that fails changes nothing",
    async check({ run }) {
      const { result, artifacts, error } = await run(
        `const { files } = cyrnel;
        const blob = new Blob(["one ", new Blob([Uint8Array.of(0, 255)]), "two"]);
        const written = await files.write("blob.bin", blob);
        await files.append("blob.bin", new Blob([" more"]));
        await files.write("body.bin", new Response(blob).body);
        await files.append("body.bin", (async function* () { yield " ü"; yield Uint8Array.of(1); yield new Uint8Array([2]).buffer; })());
        await files.write("empty.bin", new Blob([]));
        const failing = (async function* () { yield "half"; throw new Error("lost"); })();
        const tell = (attempt) => attempt.then(() => "done", (error) => error.name + ": " + error.message);
        const refused = [await tell(files.write("given.txt", failing)), await tell(files.append("given.txt", (async function* () { yield "half"; yield 1; })())),
          await tell(files.append("new.txt", (async function* () { throw 1; })()))];
        const big = new ReadableStream({ pull(c) { this.left = (this.left ?? 30 * 16) - 1; if (this.left < 0) c.close(); else c.enqueue(new Uint8Array(65536).fill(7)); } });
        const size = (await files.write("big.bin", big)).size;
        await files.remove("big.bin");
        return [written.size, refused, size, await files.text("given.txt"), (await files.list()).map(({ name, size }) => name + " " + size)];`,
        {
          files: { "given.txt": "as it was" },
          memoryMb: 64,
          maxWorkspaceBytes: 31 * MEBIBYTE,
          timeoutMs: 60_000,
        },
      );
      expect(error).toBeUndefined();
      expect(result).toEqual([
        9,
        [
          "Error: lost",
          "TypeError: cyrnel.files.append takes a stream of text or bytes; found number in it.",
          "undefined: undefined",
        ],
        30 * MEBIBYTE,
        "as it was",
        ["blob.bin 14", "body.bin 14", "empty.bin 0", "given.txt 9"],
      ]);
      const blob = Buffer.from("one \u0000ÿtwo", "latin1");
      expect(artifacts["blob.bin"]).toEqual(Buffer.concat([blob, Buffer.from(" more")]));
      expect(artifacts["body.bin"]).toEqual(Buffer.concat([blob, Buffer.from(" ü\u0001\u0002")]));
      expect(Object.keys(artifacts).sort()).toEqual(["blob.bin", "body.bin", "empty.bin"]);
    },
  },
  {
    id: "files.nothing-kept",
    sentence: "what JSON would keep nothing of is refused, with what to write instead",
    async check({ run }) {
      const { result, artifacts } = await run(
        `const read = new Response("x"); await read.text();
        const held = new Response("x").body; held.getReader();
        class Point { #x = 1 }
        class Money { #sum = 1; toJSON() { return {} } }
        const found = [];
        for (const value of [Promise.resolve(1), new Response("x"), new Request("http://a.test"), new FormData(),
          new Point(), () => 1, undefined, read.body, held, [Promise.resolve(1)]]) {
          for (const put of [cyrnel.files.write, cyrnel.files.append]) found.push(await put("x", value).then(() => "written", (error) => error.name + ": " + error.message));
        }
        for (const value of [{}, [], null, Object.create(null), new Money(), { a: new Map([["b", 1]]) }, new Date(0), new Number(1), new Map([[1, 2]]),
          new Set([1]), new Map([[1, 2]]).values(), new Error("x")]) await cyrnel.files.append("kept", value);
        return found;`,
      );
      const kinds = "expects text, bytes, a Blob, a stream or JSON data; found";
      const expected = [
        "data is a promise that was not awaited: put `await` in front of it",
        `cyrnel.files.* ${kinds} a Response: write response.body or await response.bytes().`,
        `cyrnel.files.* ${kinds} a Request: write request.body or await request.bytes().`,
        "data is a FormData, of which JSON keeps nothing: write `Object.fromEntries(form)`",
        "data is a Point, of which JSON keeps nothing: write the values it holds, or give its class a toJSON()",
        "data is a function, which JSON cannot hold: leave it out or call it",
        `cyrnel.files.* ${kinds} undefined.`,
        `cyrnel.files.* ${kinds} a ReadableStream that is read already.`,
        `cyrnel.files.* ${kinds} a ReadableStream that is read already.`,
        "data[0] is a promise that was not awaited: use `await Promise.all(…)`",
      ].flatMap((found) => ["write", "append"].map((name) => `TypeError: ${found.replace("*", name)}`));
      expect(result).toEqual(expected);
      expect(Object.keys(artifacts)).toEqual(["kept"]);
      expect(artifacts.kept?.toString()).toBe(
        '{}[]null{}{}{"a":{"b":1}}"1970-01-01T00:00:00.000Z"1[[1,2]][1][2]{"name":"Error","message":"x"}',
      );
    },
  },
  {
    id: "streams.node-and-web",
    sentence:
      "streams of node:stream and of the web are made of each other: 30 MiB go both ways in a run of 64 MB",
    async check({ run }) {
      const { result, error } = await run(
        `import { Readable, Writable, Duplex, PassThrough } from "node:stream";
        import { pipeline } from "node:stream/promises";
        import { createReadStream, createWriteStream, statSync, readFileSync } from "node:fs";
        const size = 30 * ${MEBIBYTE};
        await pipeline(Readable.fromWeb((await fetch("${WEB}/bytes/" + size)).body), createWriteStream("big.bin"));
        const sent = await fetch("${WEB}/size", { method: "POST", body: Readable.toWeb(createReadStream("big.bin")), duplex: "half" });
        const found = [statSync("big.bin").size === size, Number(await sent.text()) === size];
        const web = (...pieces) => new ReadableStream({ start(c) { for (const piece of pieces) c.enqueue(new TextEncoder().encode(piece)); c.close(); } });
        await web("p", "q").pipeTo(Writable.toWeb(createWriteStream("a.txt")));
        found.push(readFileSync("a.txt", "utf8"));
        const taken = [];
        const sink = new WritableStream({ write(chunk) { taken.push(new TextDecoder().decode(chunk)); }, close() { taken.push("closed"); } });
        await pipeline(Readable.from(["a", "b"]), Writable.fromWeb(sink));
        found.push(taken);
        const upper = new TransformStream({ transform(chunk, c) { c.enqueue(new TextDecoder().decode(chunk).toUpperCase()); } });
        let text = "";
        await pipeline(Readable.from(["c"]), Duplex.fromWeb(upper, { encoding: "utf8" }), async (pieces) => { for await (const piece of pieces) text += piece; });
        const pair = Duplex.toWeb(new PassThrough());
        const [through] = await Promise.all([new Response(pair.readable).text(), web("d").pipeTo(pair.writable)]);
        found.push(text, through);
        const tell = (attempt) => attempt.then(() => "done", (error) => error.message);
        const failing = () => new ReadableStream({ pull(c) { c.error(new Error("lost")); } });
        found.push(await tell(pipeline(Readable.fromWeb(failing()), createWriteStream("b.txt"))),
          await tell(new Response(Readable.toWeb(createReadStream("none"))).text()),
          await tell(web("e").pipeTo(Writable.toWeb(createWriteStream("none/b.txt")))),
          await tell(pipeline(Readable.from(["f"]), Writable.fromWeb(new WritableStream({ write() { throw new Error("full"); } })))));
        const endless = new Readable({ read() {} });
        const reader = Readable.toWeb(endless).getReader();
        const reading = reader.read();
        await reader.cancel();
        return [...found, (await reading).done, endless.destroyed];`,
        { memoryMb: 64, maxWorkspaceBytes: 64 * MEBIBYTE, timeoutMs: 60_000 },
      );
      expect(error).toBeUndefined();
      expect(result).toEqual([
        true,
        true,
        "pq",
        ["a", "b", "closed"],
        "C",
        "d",
        "lost",
        expect.stringContaining("ENOENT"),
        expect.stringContaining("ENOENT"),
        "full",
        true,
        true,
      ]);
    },
  },
  {
    id: "streams.of-fs",
    sentence:
      "fs/promises writes streams and iterables, and a hash at the end of a pipeline answers its digest",
    async check({ run }) {
      const { result, artifacts, error } = await run(
        `import { Readable } from "node:stream";
        import { pipeline } from "node:stream/promises";
        import fs from "node:fs";
        import { createHash, createHmac } from "node:crypto";
        const { writeFile, appendFile, open } = fs.promises;
        await writeFile("a.txt", fs.createReadStream("in.txt"));
        await appendFile("a.txt", (async function* () { yield " b"; yield Uint8Array.of(99); })());
        await writeFile("b.txt", ["aGk=", "aGk="], "base64");
        await writeFile("c.txt", new Response("body").body);
        const handle = await open("d.txt", "w");
        await handle.writeFile(Readable.from(["d", "e"]));
        await handle.close();
        const tell = (attempt) => attempt.then(() => "done", (error) => (error.code ?? error.name) + ": " + error.message);
        const refused = [await tell(writeFile("in.txt", [1])), await tell(writeFile("in.txt", Readable.from(["x", {}]))),
          await tell(writeFile("no/x", ["x"])), await tell((async () => fs.writeFileSync("in.txt", ["x"]))()), await tell(writeFile("in.txt", {}))];
        const hashes = [];
        for (const hash of [createHash("md5"), createHmac("md5", "k")]) {
          await pipeline(fs.createReadStream("in.txt"), hash);
          const late = await tell((async () => hash.update("x"))());
          hashes.push(hash.digest("hex"), late, await tell((async () => hash.digest())()));
        }
        const early = createHash("md5").update("in");
        const digest = early.digest("hex");
        const read = await early.end().toArray();
        return { refused, hashes, early: [digest, read[0].toString("hex") === digest], in: fs.readFileSync("in.txt", "utf8") };`,
        { files: { "in.txt": "in" } },
      );
      expect(error).toBeUndefined();
      const type = (what: string) => expect.stringMatching(new RegExp(`^ERR_INVALID_ARG_TYPE: .*${what}`));
      const over = expect.stringMatching(/^ERR_CRYPTO_HASH_FINALIZED/);
      const hex = (hash: { update(text: string): { digest(form: "hex"): string } }) =>
        hash.update("in").digest("hex");
      expect(result).toEqual({
        refused: [
          type("found number"),
          type("found object"),
          expect.stringMatching(/^ENOENT/),
          type("found object"),
          type("found object"),
        ],
        hashes: [hex(createHash("md5")), over, over, hex(createHmac("md5", "k")), over, over],
        early: [hex(createHash("md5")), true],
        in: "in",
      });
      expect(
        Object.fromEntries(Object.entries(artifacts).map(([name, bytes]) => [name, bytes.toString()])),
      ).toEqual({
        "a.txt": "in bc",
        "b.txt": "hihi",
        "c.txt": "body",
        "d.txt": "de",
      });
    },
  },
];
