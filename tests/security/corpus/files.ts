/** Probes: the workspace of a run, by its names, sizes, order and number of calls, and by what its files become outside. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack } from "tar-stream";
import { expect } from "vitest";
import type { Bench, Run } from "../../contract/bench.ts";
import { mayNameAFile } from "../name-fuzz/names.ts";
import { lootProbe, type Probe } from "./probe.ts";

const onDisk = { in: "plain-node", shows: "loot" } as const;
/** Would lie beside the temporary files of workspaces, were a name ever a path. */
const ESCAPED = "cyrnel-corpus-escaped";
const MAX_WORKSPACE_BYTES = 64 * 1024;

/** Names that lead out of a folder, or to another file than they say, where a name becomes a path. */
const PATHS = [
  "../../../../../../../../etc/passwd",
  "a/../../../../../../../../etc/passwd",
  "./../../../../../../../../etc/passwd",
  "/etc/passwd",
  "//etc/passwd",
  "/proc/self/environ",
  "/proc/self/root/etc/passwd",
  "/dev/fd/3",
  "file:///etc/passwd",
  "..\\..\\..\\..\\etc\\passwd",
  "C:\\Windows\\win.ini",
  "\\\\?\\C:\\Windows\\win.ini",
  "in/given.txt\u0000.png",
  "../../../../../../../../etc/passwd\u0000.txt",
  "%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
  "..%2f..%2f..%2f..%2fetc%2fpasswd",
  "\uff0e\uff0e/\uff0e\uff0e/etc/passwd",
  "\u2024\u2024/\u2024\u2024/etc/passwd",
  "~/.ssh/id_rsa",
  "~root/.ssh/id_rsa",
  "$HOME/.npmrc",
  "in//given.txt",
  "in/./given.txt",
  "in/given.txt/",
  "",
  ".",
  "..",
  "/",
];

/** Every way to a file there is: `each(name)` answers what each of them came to. */
const WAYS = String.raw`
  const fs = await import("node:fs");
  const ways = {
    read: (name) => cyrnel.files.read(name).then((bytes) => new TextDecoder().decode(bytes)), text: (name) => cyrnel.files.text(name), stat: (name) => cyrnel.files.stat(name),
    lines: async (name) => { let all = ""; for await (const line of cyrnel.files.lines(name)) all += line + "\n"; return all; },
    readFile: (name) => fs.promises.readFile(name, "utf8"), readFileSync: async (name) => fs.readFileSync(name, "utf8"), realpath: (name) => fs.promises.readFile(fs.realpathSync(name), "utf8"),
    open: async (name) => { const file = fs.openSync(name, "r"); const bytes = new Uint8Array(64); return new TextDecoder().decode(bytes.subarray(0, fs.readSync(file, bytes, 0, 64, 0))); },
    copy: async (name) => { fs.copyFileSync(name, "copied"); return fs.readFileSync("copied", "utf8"); }, rename: async (name) => { fs.renameSync(name, "moved"); const text = fs.readFileSync("moved", "utf8"); fs.renameSync("moved", "in/given.txt"); return text; },
    stream: (name) => new Promise((resolve, reject) => { let all = ""; fs.createReadStream(name, { encoding: "utf8" }).on("data", (text) => { all += text; }).on("end", () => resolve(all)).on("error", reject); }),
  };
  const each = async (name) => { const came = {}; for (const [way, go] of Object.entries(ways)) came[way] = await Promise.resolve().then(() => go(name)).catch((error) => { take(way, error); return error; }); return came; };`;

/** Artifacts that no client may be given: names are labels that every system can unpack, and no file is a folder too. */
function onlyHarmless({ artifacts }: Run): void {
  const names = Object.keys(artifacts);
  expect(names.filter((name) => !mayNameAFile(name))).toEqual([]);
  expect(names.filter((name) => names.some((other) => other.startsWith(`${name}/`)))).toEqual([]);
  expect([existsSync(join(tmpdir(), ESCAPED)), existsSync(join("/", ESCAPED))]).toEqual([false, false]);
}

function quiet(run: Run): void {
  expect([run.state, run.error?.message, run.result]).toEqual(["success", undefined, []]);
}

export const fileProbes: Probe[] = [
  lootProbe({
    id: "files.paths-read",
    steals: "a file of the host, by a name that climbs, begins at the root or is read twice",
    options: { files: { "in/given.txt": "given" } },
    attack: String.raw`${WAYS}
      for (const name of ${JSON.stringify(PATHS)}) for (const [way, content] of Object.entries(await each(name))) if (typeof content === "string" && content !== "given") note(way + " of " + JSON.stringify(name) + " answered " + content.slice(0, 50));
      for (const name of ${JSON.stringify(PATHS)}) if (await cyrnel.files.exists(name)) note(JSON.stringify(name) + " is said to exist");
      if ((await cyrnel.files.text("in/given.txt")) !== "given") note("what was given is another");`,
    control: {
      ...onDisk,
      script: `const text = await cyrnel.files.text("../../../../../../../../etc/passwd"); if (/root:/.test(text)) note("the host's users");`,
    },
  }),
  lootProbe({
    id: "files.paths-written",
    steals: "a place on the host's disk, by the name of what is written, moved or made a folder",
    attack: String.raw`
      const fs = await import("node:fs");
      for (const start of ["../", "../../", "../../../../../../../../", "../../../../../../../../tmp/", "/", "/tmp/", "a/../../", "..\\", "\u0000/", "./../"]) {
        const name = start + "${ESCAPED}";
        for (const act of [() => cyrnel.files.write(name, "x"), () => cyrnel.files.append(name, "x"), () => tools.test.echo({ a: 1 }, { saveAs: name })]) await act().then((answer) => note(JSON.stringify(name) + " was written: " + JSON.stringify(answer)), (error) => take("error", error));
        for (const act of [() => fs.writeFileSync(name, "x"), () => fs.mkdirSync(name, { recursive: true }), () => fs.renameSync(name, "../" + name), () => fs.mkdtempSync(name), () => fs.rmSync(name, { recursive: true, force: true })]) take("fs", attempt(act));
      }`,
    observe(run) {
      quiet(run);
      onlyHarmless(run);
    },
    control: {
      ...onDisk,
      script: `await cyrnel.files.write("../${ESCAPED}", "x"); if (require("fs").existsSync(cyrnel.files.folder + "/../${ESCAPED}")) note("written beside the workspace");`,
    },
  }),
  lootProbe({
    id: "files.twins",
    steals:
      "another file than the one that a name seems to say: composed and decomposed, folded, of look-alikes",
    options: { files: { "caf\u00e9.txt": "composed", "in/a.txt": "small" } },
    attack: String.raw`
      for (const name of ["cafe\u0301.txt", "CAF\u00c9.TXT", "caf\u00e9.txt ", "caf\u00e9.txt.", "in/A.txt", "IN/a.txt", "in/a.txt\u200b", "in/\u0430.txt", "\ufb01n/a.txt", "in\u2044a.txt", "\u{e0069}n/a.txt"]) {
        const text = await cyrnel.files.text(name).catch((error) => error.code);
        if (text !== "file_not_found") note(JSON.stringify(name) + " answered " + text);
      }
      for (const name of ["cafe\u0301.txt", "\u212b.txt", "a\u030a", "\u1100\u1161"]) await cyrnel.files.write(name, "decomposed").then(() => note(JSON.stringify(name) + " was written"), (error) => error.code === "invalid_file_name" || note(String(error)));
      await cyrnel.files.write("in/A.txt", "large");
      if ((await cyrnel.files.text("in/a.txt")) !== "small" || (await cyrnel.files.text("in/A.txt")) !== "large") note("names are folded");`,
    observe(run) {
      quiet(run);
      expect(Object.keys(run.artifacts)).toEqual(["in/A.txt"]);
    },
  }),
  lootProbe({
    id: "files.long-names",
    steals: "memory, logs and the room of other names, by long ones: 255 bytes are enough",
    attack: String.raw`
      const fits = ["n".repeat(255), "\u00fc".repeat(127) + "n", "\u{1f4a9}".repeat(63) + "abc", ("d/".repeat(127) + "n").slice(-255)];
      for (const name of fits) await cyrnel.files.write(name, "x").catch((error) => note("refused: " + error.message));
      for (const name of ["n".repeat(256), "\u00fc".repeat(128), "\u{1f4a9}".repeat(64), "n".repeat(1001), "a/".repeat(100_000) + "n", "n".repeat(3_000_000)]) {
        for (const act of [() => cyrnel.files.write(name, "x"), () => cyrnel.files.read(name), () => cyrnel.files.remove(name), () => tools.test.echo({}, { saveAs: name })]) {
          const error = await act().then(() => "done", (error) => error);
          if (error === "done") note("a name of " + name.length + " characters was taken");
        }
      }`,
    observe(run) {
      quiet(run);
      onlyHarmless(run);
      expect(Object.keys(run.artifacts).map((name) => Buffer.byteLength(name))).toEqual([255, 255, 255, 255]);
    },
  }),
  lootProbe({
    id: "files.control-characters",
    steals: "a line of a log, a header or a terminal, by what is in a name",
    attack: String.raw`
      for (const odd of ["\u0000", "\n", "\r\nset-cookie: a=b", "\t", "\u001b[2J", "\u007f", "\u0085", "\u009b31m", "\u2028", "\u2029", "\u200e", "\u202egnp.exe", "\u2066", "\ud800", "\udfff", "\\"]) {
        const name = "a" + odd + "b";
        for (const act of [() => cyrnel.files.write(name, "x"), () => cyrnel.files.append(name, "x"), () => tools.test.echo({}, { saveAs: name })]) {
          const error = await act().then(() => null, (error) => error);
          if (error === null) note(JSON.stringify(name) + " was taken");
          else if (/[\u0000-\u001f\ud800-\udfff]/.test(error.message)) note("the refusal of " + JSON.stringify(name) + " says it as it is");
        }
      }`,
    observe(run) {
      quiet(run);
      expect(run.artifacts).toEqual({});
    },
  }),
  lootProbe({
    id: "files.reserved",
    steals: "members of the host's own objects, by files that have their names",
    attack: String.raw`
      const names = ["__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty", "then", "toJSON", "length", "0", "CON", "NUL", "aux.txt", "a:b", "-rf", "*", "artifacts.tar", "content", ".git/config", "node_modules/x/index.js"];
      for (const name of names) {
        const before = await cyrnel.files.read(name).then(() => "found", (error) => error.code);
        if (before !== "file_not_found" || (await cyrnel.files.exists(name))) note(name + " was there before it was written");
        await cyrnel.files.write(name, name);
        if ((await cyrnel.files.text(name)) !== name) note(name + " is read as another");
      }
      const stats = await cyrnel.files.list();
      if (stats.length !== names.length) note(stats.length + " files are listed");
      if ({}.size !== undefined || [].name !== undefined) note("a prototype was changed");`,
    observe(run) {
      quiet(run);
      expect(Object.values(run.artifacts).map(String)).toEqual(Object.keys(run.artifacts));
    },
  }),
  lootProbe({
    id: "files.links",
    steals: "a file of the host, by a link: symbolic, hard, or in a path on the way",
    attack: String.raw`
      const fs = await import("node:fs");
      for (const name of ["symlink", "link", "symlinkSync", "linkSync", "readlinkSync"]) {
        const answer = attempt(() => fs[name]("/etc/passwd", "linked", () => {}));
        if (!(answer instanceof Error)) note("fs." + name + " answered");
      }
      for (const name of ["symlink", "link"]) await Promise.resolve().then(() => fs.promises[name]("/etc", "folder")).then(() => note("fs.promises." + name + " answered"), (error) => take(name, error));
      await cyrnel.files.write("folder/passwd", "mine");
      if (fs.lstatSync("folder").isSymbolicLink() || fs.readFileSync("folder/passwd", "utf8") !== "mine") note("a link was followed");
      for (const name of ["linked", "folder/shadow"]) if (await cyrnel.files.exists(name)) note(name + " is there");`,
    control: {
      ...onDisk,
      script: `require("fs").symlinkSync("/etc", cyrnel.files.folder + "/folder"); if (/root:/.test(await cyrnel.files.text("folder/passwd"))) note("a link was followed");`,
    },
  }),
  {
    id: "files.archive",
    steals: "another place, mode or kind of file, where the artifacts are unpacked",
    script: String.raw`
      const header = (name, type, link) => { const block = new Uint8Array(512); const put = (at, text) => block.set(new TextEncoder().encode(text), at); put(0, name); put(100, "0004777\0"); put(124, "00000000000\0"); put(156, type); put(157, link); put(257, "ustar\0" + "00"); put(148, "        "); const sum = block.reduce((a, b) => a + b, 0); put(148, sum.toString(8).padStart(6, "0") + "\0 "); return block; };
      for (const name of ["././@LongLink".slice(4), "PaxHeader/x", "pax_global_header", "GNUSparseFile.0/a", "./a".slice(2), "-C", "--checkpoint-action=exec=id", "--to-command=id", "a b\u00a0c", "n".repeat(101), "d".repeat(100) + "/" + "n".repeat(150), "\u{1f4a9}".repeat(60)]) await cyrnel.files.write(name, "x");
      await cyrnel.files.write("inner.tar", header("evil", "2", "/etc/passwd"));
      await cyrnel.files.write("block", header("../../escaped", "0", ""));
      await cyrnel.files.append("block", header("evil", "2", "/etc/passwd"));
      return (await cyrnel.files.list()).length;`,
    async observe(run) {
      expect([run.state, run.result]).toEqual(["success", 14]);
      onlyHarmless(run);
      const archive = pack();
      for (const [name, content] of Object.entries(run.artifacts)) archive.entry({ name }, content);
      archive.finalize();
      const pieces: Buffer[] = [];
      for await (const piece of archive) pieces.push(piece as Buffer);
      const input = Buffer.concat(pieces);
      // As another program sees it, which would follow what stands in the archive.
      const { stdout, status } = spawnSync("tar", ["--list", "--verbose", "--quoting-style=escape"], {
        input,
        encoding: "utf8",
      });
      const lines = stdout.trim().split("\n");
      expect([status, lines.length]).toEqual([0, 14]);
      expect(lines.filter((line) => !line.startsWith("-rw-r--r--"))).toEqual([]);
      expect(stdout).not.toMatch(/ -> |evil|\.\.\/|passwd/);
    },
  },
  lootProbe({
    id: "files.ranges",
    steals: "memory of the host, by ranges and sizes that lie or change while they are read",
    options: { files: { "in/given.txt": "given" } },
    attack: String.raw`
      let turn = 0;
      const sly = { valueOf: () => (turn++ % 2 ? 1e15 : 0), toString: () => "0" };
      const numbers = [0, -1, -0, 1.5, NaN, Infinity, -Infinity, 5, 6, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 1e308, "1", null, undefined, 1n, [], sly, { get length() { return turn++; } }];
      for (const offset of numbers) for (const length of numbers) {
        const bytes = await cyrnel.files.read("in/given.txt", { offset, length }).catch(() => new Uint8Array());
        if (!"given".includes(new TextDecoder().decode(bytes))) note("another range: " + new TextDecoder().decode(bytes).slice(0, 50));
      }
      for (const range of [{ get offset() { return turn++ % 2 ? -5 : 0; }, length: 5 }, new Proxy({}, { get: (_, key) => (key === "length" ? 5 : turn++ % 2 ? 1e15 : 0) })]) {
        const text = await cyrnel.files.read("in/given.txt", range).then((bytes) => new TextDecoder().decode(bytes), () => "");
        if (!"given".includes(text)) note("another range: " + text.slice(0, 50));
      }
      Object.defineProperty(Uint8Array.prototype, "length", { get: () => 1_000_000, configurable: true });
      if ((await cyrnel.files.text("in/given.txt")) !== "given") note("a length that lies was believed");`,
  }),
  {
    id: "files.sizes",
    steals: "memory that was never written, by bytes whose size lies, shrinks or goes away",
    script: String.raw`
      const { files } = cyrnel;
      class Large extends Uint8Array { get length() { return 1_000_000; } get byteLength() { return 1_000_000; } get byteOffset() { return 0; } get buffer() { return new ArrayBuffer(1_000_000); } subarray() { return new Large(8); } }
      const outcomes = [];
      const attempt = async (name, data, then) => { const done = files.write(name, data).then(() => "written", (error) => error instanceof Error); then?.(); outcomes.push(await done); };
      await attempt("large", new Large([1, 2, 3]));
      await attempt("proxy", new Proxy(new Uint8Array([1, 2]), {}));
      await attempt("like", { length: 1e9, byteLength: 1e9, buffer: new ArrayBuffer(8) });
      const shrinking = new ArrayBuffer(700_000, { maxByteLength: 700_000 });
      new Uint8Array(shrinking).fill(7);
      await attempt("shrinking", new Uint8Array(shrinking), () => shrinking.resize(0));
      const leaving = new Uint8Array(700_000).fill(7);
      await attempt("leaving", leaving, () => leaving.buffer.transfer(0));
      const changing = new Uint8Array(700_000).fill(7);
      await attempt("changing", changing, () => changing.fill(9));
      if (typeof SharedArrayBuffer === "function") await attempt("shared", new Uint8Array(new SharedArrayBuffer(10)).fill(7));
      await attempt("view", new DataView(new ArrayBuffer(16), 8, 8));
      return outcomes.every((outcome) => outcome === "written" || outcome === true);`,
    observe(run) {
      expect([run.state, run.error?.message, run.result]).toEqual(["success", undefined, true]);
      for (const name of ["shrinking", "leaving", "changing", "shared"]) {
        const content = run.artifacts[name] ?? Buffer.alloc(0);
        expect(content.length).toBeLessThanOrEqual(700_000);
        // Nothing but what the script had there: no byte of a buffer that was used before.
        expect(content.every((byte) => byte === 7 || byte === 9 || byte === 0)).toBe(true);
      }
      const written = [...(run.artifacts.large ?? [])];
      expect(written.every((byte) => byte <= 3) && written.length <= 1_000_000).toBe(true);
    },
  },
  {
    id: "files.race",
    steals: "a state in between: what is read, replaced, appended and removed all at once",
    script: String.raw`
      const { files } = cyrnel;
      const SIZE = 600_000;
      await files.write("f", "a".repeat(SIZE));
      const seen = new Set(), strange = [];
      const look = (text) => { for (const letter of new Set(text)) seen.add(letter); if (text.length > 3 * SIZE) strange.push(text.length); };
      const tolerate = (promise) => promise.catch((error) => { if (!["file_not_found", undefined].includes(error.code)) strange.push(error.code); });
      const work = [];
      for (let round = 0; round < 6; round++) {
        work.push(tolerate(files.write("f", (round % 2 ? "a" : "b").repeat(SIZE))), tolerate(files.text("f").then(look)), tolerate(files.append("f", "c".repeat(70_000))));
        work.push(tolerate((async () => { for await (const line of files.lines("f")) look(line); })()), tolerate(files.remove("f")), tolerate(files.read("f", { offset: SIZE - 10 }).then((bytes) => look(new TextDecoder().decode(bytes)))));
      }
      await Promise.all(work);
      await files.write("f", "end");
      return [[...seen].every((letter) => "abc\0".includes(letter)), strange, await files.text("f")];`,
    observe(run) {
      expect([run.state, run.error?.message]).toEqual(["success", undefined]);
      expect(run.result).toEqual([true, [], "end"]);
      expect(Object.entries(run.artifacts).map(([name, bytes]) => [name, String(bytes)])).toEqual([
        ["f", "end"],
      ]);
    },
  },
  {
    id: "files.flood-of-calls",
    steals: "the server's time and memory, by endless small writes that are never waited for",
    script: `for (;;) { for (let n = 0; n < 500; n++) cyrnel.files.append("log.txt", "x").catch(() => {}); await cyrnel.files.exists("log.txt"); }`,
    options: { timeoutMs: 2_500, memoryMb: 96 },
    observe: ["timeout", "memory_limit", "sandbox_violation", "output_limit", "crashed"],
  },
  {
    id: "files.flood-of-bytes",
    steals: "the server's disk, by what is replaced again and again",
    script: `const piece = "x".repeat(32_000); for (;;) await cyrnel.files.write("log.txt", piece);`,
    options: { maxWorkspaceBytes: MAX_WORKSPACE_BYTES },
    observe: ["output_limit"],
  },
  {
    id: "files.flood-of-names",
    steals: "the server's memory, by files without end that have nothing in them",
    script: `for (let n = 0; ; n++) await cyrnel.files.write("out/" + n, "");`,
    observe: ["output_limit"],
  },
  {
    id: "files.swollen",
    steals: "more room than a run has, by appending to what it was given",
    script: `for (let n = 0; ; n++) await cyrnel.files.append("in/given.txt", "x".repeat(20_000));`,
    options: { files: { "in/given.txt": "g".repeat(60_000) }, maxWorkspaceBytes: MAX_WORKSPACE_BYTES },
    observe: ["output_limit"],
  },
  {
    id: "files.answers-saved",
    steals: "the server's disk, by answers of tools that are saved as files",
    script: `const text = "x".repeat(30_000); for (;;) await tools.test.echo({ text }, { saveAs: "answer.json" });`,
    options: { maxWorkspaceBytes: MAX_WORKSPACE_BYTES },
    observe: ["output_limit"],
  },
  {
    id: "files.of-another-run",
    steals: "a file of another run, by its name",
    script: `await cyrnel.files.write("canary.txt", "of the first");`,
    async observe(run: Run, bench: Bench) {
      expect(String(run.artifacts["canary.txt"])).toBe("of the first");
      const first = bench.start(
        `await cyrnel.files.write("canary.txt", "of the second"); console.log("written"); await tools.test.hang({})`,
      );
      await first.printed("written");
      const other = await bench.run(
        `return [await cyrnel.files.list(), await cyrnel.files.text("canary.txt").catch((error) => error.code), (await import("node:fs")).readdirSync("/")]`,
      );
      await first.kill();
      await first.done;
      expect(other.result).toEqual([[], "file_not_found", []]);
    },
  },
];
