/** The host's side of a run's files, called as a child that was taken over could call it. */
import { spawnSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { checkFileName } from "#kernel/file-names.ts";
import { createSpools, openSpools, type Spools } from "#runner/workspace/spool.ts";
import { Workspace } from "#runner/workspace/workspace.ts";

const MEBIBYTE = 1024 * 1024;

function open(given: Record<string, string> = {}, maxBytes = MEBIBYTE, maxFiles = 10): Workspace {
  const files = Object.entries(given).map(([name, content]) => {
    const bytes = Buffer.from(content);
    return {
      name,
      size: bytes.length,
      contentType: "text/plain",
      read: async (offset: number, length: number) => bytes.subarray(offset, offset + length),
    };
  });
  return new Workspace({ files, maxBytes, maxFiles });
}

let lastWrite = 0;
const put = (workspace: Workspace, name: string, text: string, mode: "replace" | "append" = "replace") =>
  workspace.write({ name, data: Buffer.from(text), mode, more: false, write: ++lastWrite });
const textOf = async (workspace: Workspace, name: string) =>
  Buffer.from(await workspace.read(name, 0, 1e6)).toString();

const HOSTILE_NAMES = [
  "",
  ".",
  "..",
  "../a",
  "a/../../b",
  "/etc/passwd",
  "//a",
  "a//b",
  "a/",
  "a\\..\\b",
  "C:\\a",
  "a\u0000",
  "a\nb",
  "a\u202eb",
  "a\u0085",
  "\ud800",
  "é".normalize("NFD"),
  "ü".repeat(128),
  "x".repeat(256),
];

test("no name reaches the disk: those that are no labels are refused, the others are keys of a map", async () => {
  await using workspace = open();
  for (const name of HOSTILE_NAMES) {
    expect(checkFileName(name), JSON.stringify(name)).not.toBeNull();
    await expect(put(workspace, name, "x"), JSON.stringify(name)).rejects.toMatchObject({
      code: "invalid_file_name",
    });
  }
  for (const name of [
    "__proto__",
    "constructor",
    "con",
    "a:b",
    "~",
    "$HOME",
    "a b",
    "ü".repeat(127),
    "-rf",
    "😀",
  ]) {
    expect(checkFileName(name)).toBeNull();
    await put(workspace, name, name);
    expect(await textOf(workspace, name)).toBe(name);
  }
  expect(workspace.artifacts().map(({ name }) => name)).toContain("__proto__");
});

test("nothing of what is written has a name on the disk, and nothing is left of it", async () => {
  const ours = async () => (await readdir(tmpdir())).filter((name) => name.startsWith("cyrnel-workspace-"));
  const before = await ours();
  {
    await using workspace = open();
    await put(workspace, "a.txt", "secret");
    expect(await ours()).toEqual(before);
  }
  expect(await ours()).toEqual(before);
});

test("a write is seen whole or not at all, and two writes of one file do not mix", async () => {
  await using workspace = open({ "a.txt": "before" });
  const piece = (write: number, text: string, more: boolean, mode: "replace" | "append" = "replace") =>
    workspace.write({ name: "a.txt", data: Buffer.from(text), mode, more, write });
  const first = piece(101, "one ", true);
  const second = piece(102, "two ", true);
  await Promise.all([first, second]);
  expect(await textOf(workspace, "a.txt")).toBe("before");
  await piece(102, "two", false);
  expect(await textOf(workspace, "a.txt")).toBe("two two");
  await piece(101, "one", false, "append");
  expect(await textOf(workspace, "a.txt")).toBe("two twoone one");
  await piece(103, "unfinished", true);
  expect(workspace.artifacts().map(({ name, size }) => [name, size])).toEqual([["a.txt", 14]]);
  await expect(
    workspace.write({ name: "b.txt", data: Buffer.from("x"), mode: "replace", more: false, write: 103 }),
  ).rejects.toMatchObject({ code: "invalid_file_name" });
});

test("what is asked for is done in the order in which it is asked for, awaited or not", async () => {
  await using workspace = open({ "a.txt": "given" });
  const asked = [
    textOf(workspace, "a.txt"),
    put(workspace, "a.txt", " and more", "append"),
    textOf(workspace, "a.txt"),
    put(workspace, "a.txt", "new"),
    textOf(workspace, "a.txt"),
    workspace.remove("a.txt"),
    textOf(workspace, "a.txt").catch((error) => error.code),
    put(workspace, "a.txt", "again"),
  ];
  const found = (await Promise.all(asked)).filter((answer) => typeof answer === "string");
  expect(found).toEqual(["given", "given and more", "new", "file_not_found"]);
});

test("whatever a script does to its files, they hold what a buffer would, and copies stay as they were", async () => {
  await using workspace = open({ "a.txt": "given" });
  const model = new Map([["a.txt", Buffer.from("given")]]);
  let seed = 7;
  const below = (limit: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % limit;
  };
  const names = ["a.txt", "b.txt", "c/d.txt"];
  const kept: { files: ReturnType<Workspace["snapshot"]>; name: string; bytes: Buffer }[] = [];
  for (let step = 0; step < 1500; step++) {
    const name = names[below(3)] as string;
    const to = names[below(3)] as string;
    const held = model.get(name);
    const text = String.fromCharCode(97 + below(26)).repeat(1 + (below(4) === 0 ? below(9000) : below(40)));
    const act = below(7);
    if (act < 3 && (held?.length ?? 0) < 200_000) {
      await put(workspace, name, text, "append");
      model.set(name, Buffer.concat([held ?? Buffer.alloc(0), Buffer.from(text)]));
    } else if (act === 3) {
      const at = below((held?.length ?? 0) + 6000);
      await workspace.write({
        name,
        data: Buffer.from(text),
        mode: "patch",
        at,
        more: false,
        write: ++lastWrite,
      });
      const size = Math.max(held?.length ?? 0, at + text.length);
      const bytes = Buffer.concat([held ?? Buffer.alloc(0), Buffer.alloc(size)]).subarray(0, size);
      bytes.write(text, at);
      model.set(name, bytes);
    } else if (held !== undefined && act === 4) {
      const size = below(held.length + 5000);
      await workspace.resize({ name, size });
      model.set(name, Buffer.concat([held, Buffer.alloc(size)]).subarray(0, size));
    } else if (held !== undefined && act === 5) {
      const moves = below(3) === 0;
      await workspace.copy({ name, to, moves });
      if (moves && name !== to) model.delete(name);
      model.set(to, held);
    } else if (held !== undefined && step % 10 === 0) {
      kept.push({ files: workspace.snapshot(), name, bytes: held });
    }
  }
  expect(kept.length).toBeGreaterThan(3);
  for (const [name, bytes] of model) {
    expect(Buffer.from(await workspace.read(name, 0, 1e6)).equals(bytes), name).toBe(true);
    const at = below(bytes.length + 1);
    expect(
      Buffer.from(await workspace.read(name, at, 5000)).equals(bytes.subarray(at, at + 5000)),
      name,
    ).toBe(true);
  }
  for (const { files, name, bytes } of kept) {
    const pieces: Uint8Array[] = [];
    for await (const piece of (await files.open(name)).stream()) pieces.push(piece);
    expect(Buffer.concat(pieces).equals(bytes), name).toBe(true);
  }
});

/** Counts what reaches the disk. */
function countedSpools() {
  const counted = { reads: 0, writes: 0, bytes: 0 };
  const real = createSpools({ folder: tmpdir(), maxBytes: null });
  const spools: Spools = {
    open() {
      const spool = real.open();
      return {
        read(at, length) {
          counted.reads++;
          return spool.read(at, length);
        },
        write(data, at) {
          counted.writes++;
          counted.bytes += data.length;
          return spool.write(data, at);
        },
        close: () => spool.close(),
      };
    },
  };
  return { counted, spools };
}

test("floods of small pieces, wherever they are written, make neither long lists nor many reads", async () => {
  const CALLS = 4000;
  const { counted, spools } = countedSpools();
  await using workspace = new Workspace({ files: [], maxBytes: 4 * MEBIBYTE, maxFiles: 10, spools });
  const names = ["a", "b"];
  const write = (name: string, text: string, how: { mode: "append" } | { mode: "patch"; at: number }) =>
    workspace.write({ name, data: Buffer.from(text), more: false, write: ++lastWrite, ...how });
  for (let call = 0; call < CALLS; call++)
    await write(names[call % 2] as string, "0123456789", { mode: "append" });
  expect(counted.writes).toBeLessThanOrEqual(2 * CALLS);
  const readsOf = async (name: string) => {
    const before = counted.reads;
    const bytes = await workspace.read(name, 0, 262_144);
    return [bytes.length, counted.reads - before];
  };
  const [size = 0, reads = 0] = await readsOf("a");
  expect(size).toBe(5 * CALLS);
  expect(reads).toBeLessThanOrEqual(size / 4096 + 1);

  await workspace.resize({ name: "a", size: MEBIBYTE });
  for (let call = 0; call < CALLS; call++) {
    await write("a", "x", { mode: "patch", at: (call * 7919) % 262_144 });
    if (call % 3 === 0) await write("b", "y", { mode: "append" });
    if (call % 100 === 0) await workspace.copy({ name: "a", to: "c", moves: false });
  }
  const [, after = 0] = await readsOf("a");
  expect(after).toBeLessThanOrEqual(262_144 / 4096 + 1);
  // Each call copies a few times what is not worth a read of its own.
  expect(counted.bytes).toBeLessThan(3 * CALLS * 5 * 4096);
});

test("one name among many is checked without looking at the others, and folders go with their last file", async () => {
  await using workspace = open({ "x/y/z": "1", "x/w": "2" });
  for (const name of ["x", "x/y", "x/y/z/a"]) {
    expect(() => workspace.checkName(name), name).toThrow("cannot be a file and the folder of");
  }
  await workspace.remove("x/y/z");
  expect(() => workspace.checkName("x/y")).not.toThrow();
  expect(() => workspace.checkName("x")).toThrow("cannot be a file");
  await workspace.copy({ name: "x/w", to: "moved", moves: true });
  expect(() => workspace.checkName("x")).not.toThrow();
  expect(workspace.artifacts().map(({ name, size }) => [name, size])).toEqual([["moved", 1]]);
  await expect(workspace.copy({ name: "moved", to: "moved/below", moves: true })).rejects.toThrow("at once");
  expect(await textOf(workspace, "moved")).toBe("2");
});

test("what all runs write has a bound, which the end of a run gives back", async () => {
  const spools = createSpools({ folder: tmpdir(), maxBytes: 1000 });
  const limits = { files: [], maxBytes: 10_000, maxFiles: 10, spools };
  await using first = new Workspace(limits);
  {
    await using second = new Workspace(limits);
    await put(second, "a", "x".repeat(600));
    const full = { name: "WorkspaceLimitError", message: expect.stringContaining("CYRNEL_MAX_SPOOL_BYTES") };
    await expect(put(first, "a", "x".repeat(600))).rejects.toMatchObject(full);
    expect(first.artifacts()).toEqual([]);
  }
  await put(first, "a", "x".repeat(600));
});

const mounted = spawnSync("sh", ["-c", "d=$(mktemp -d) && mount -t tmpfs -o size=64k none $d && echo $d"]);
const smallDisk = mounted.status === 0 ? mounted.stdout.toString().trim() : null;

test.skipIf(smallDisk === null)(
  "a full disk ends the run with a sentence that names the setting and no path (needs a mount of a tmpfs, so root)",
  async () => {
    const folder = smallDisk as string;
    try {
      await using workspace = new Workspace({
        files: [],
        maxBytes: MEBIBYTE,
        maxFiles: 10,
        spools: await openSpools({ folder, maxBytes: null }),
      });
      await put(workspace, "small", "kept");
      const full = await put(workspace, "large", "x".repeat(100_000)).catch((error) => error);
      expect(full).toMatchObject({ name: "WorkspaceLimitError" });
      expect(full.message).toContain("CYRNEL_SPOOL_DIR");
      expect(full.message).not.toContain(folder);
      expect(await textOf(workspace, "small")).toBe("kept");
    } finally {
      spawnSync("sh", ["-c", `umount ${folder} && rmdir ${folder}`]);
    }
  },
);

test("a folder that cannot be written to is refused before any run", async () => {
  await expect(openSpools({ folder: "/dev/null/cyrnel", maxBytes: null })).rejects.toThrow(
    "CYRNEL_SPOOL_DIR",
  );
});

test("sizes that are only said are bounded as those that are written", async () => {
  for (const act of [
    (workspace: Workspace) => workspace.resize({ name: "a", size: Number.MAX_SAFE_INTEGER }),
    (workspace: Workspace) =>
      workspace.write({
        name: "a",
        data: Buffer.from("x"),
        mode: "patch",
        at: Number.MAX_SAFE_INTEGER,
        more: false,
        write: 1,
      }),
    async (workspace: Workspace) => {
      for (let copy = 0; copy < 3; copy++)
        await workspace.copy({ name: "a", to: `copy${copy}`, moves: false });
    },
  ]) {
    await using workspace = open({ a: "x".repeat(500) }, 1000);
    await expect(act(workspace)).rejects.toMatchObject({ name: "WorkspaceLimitError" });
  }
});

test("reads that lie about sizes and places get what is there", async () => {
  await using workspace = open({ "a.txt": "0123456789" });
  await put(workspace, "a.txt", "abc", "append");
  const read = async (offset: number, length: number) =>
    Buffer.from(await workspace.read("a.txt", offset, length)).toString();
  expect(await read(8, 4)).toBe("89ab");
  expect(await read(12, 262_144)).toBe("c");
  expect(await read(13, 1)).toBe("");
  expect(await read(Number.MAX_SAFE_INTEGER, 262_144)).toBe("");
  await expect(workspace.read("b.txt", 0, 1)).rejects.toMatchObject({ code: "file_not_found" });
});

test("unfinished pieces, rewriting and the number of files are bounded", async () => {
  await using pieces = open({}, 1000);
  await expect(
    pieces.write({ name: "a", data: Buffer.alloc(1001), mode: "replace", more: true, write: 1 }),
  ).rejects.toMatchObject({ name: "WorkspaceLimitError" });
  await using begun = open();
  const beginning = (write: number) =>
    begun.write({ name: `f${write}`, data: Buffer.alloc(0), mode: "replace", more: true, write });
  for (let write = 1; write <= 10; write++) await beginning(write);
  await expect(beginning(11)).rejects.toMatchObject({ name: "WorkspaceLimitError" });
  await using rewritten = open({}, 1000);
  const rewriting = async () => {
    for (let count = 0; count < 20; count++) await put(rewritten, "a", "x".repeat(999));
  };
  await expect(rewriting()).rejects.toMatchObject({ name: "WorkspaceLimitError" });
});

test("what is removed is no artifact, and what is put again is one", async () => {
  await using workspace = open({ "a.txt": "given" });
  await workspace.remove("a.txt");
  await expect(workspace.read("a.txt", 0, 1)).rejects.toMatchObject({ code: "file_not_found" });
  expect(workspace.artifacts()).toEqual([]);
  await put(workspace, "a.txt", "anew", "append");
  expect(workspace.artifacts().map(({ name, size }) => [name, size])).toEqual([["a.txt", 4]]);
});

test("what is saved is there whole or not at all, and what a call sends is what was there at the call", async () => {
  await using workspace = open({ "given.txt": "given" });
  async function* pieces(...texts: (string | Error)[]) {
    for (const text of texts) {
      if (text instanceof Error) throw text;
      yield Buffer.from(text);
    }
  }
  const read = async (files: ReturnType<Workspace["snapshot"]>, name: string) => {
    const { size, contentType, stream } = await files.open(name);
    const all: Uint8Array[] = [];
    for await (const piece of stream()) all.push(piece);
    return [size, contentType, Buffer.concat(all).toString()];
  };
  const before = workspace.snapshot();
  const changing = put(workspace, "given.txt", "changed");
  const between = workspace.snapshot();
  const removing = workspace.remove("given.txt");
  const after = workspace.snapshot();
  await Promise.all([changing, removing]);
  expect(await read(before, "given.txt")).toEqual([5, "text/plain", "given"]);
  expect(await read(between, "given.txt")).toEqual([7, "text/plain", "changed"]);
  await expect(after.open("given.txt")).rejects.toMatchObject({ code: "file_not_found" });

  const saved = { contentType: "application/pdf", read: expect.any(Function) };
  expect(await workspace.save("out.pdf", pieces("one ", "two"))).toEqual({
    ...saved,
    name: "out.pdf",
    size: 7,
  });
  expect((await workspace.save("empty", pieces())).size).toBe(0);
  const broken = workspace.save("out.pdf", pieces("half", new Error("broken off")));
  await expect(broken).rejects.toThrow("broken off");
  await expect(workspace.save("half", pieces("x", new Error("no")))).rejects.toThrow("no");
  await expect(
    workspace.save(
      "large",
      pieces(
        ..."x"
          .repeat(20)
          .split("")
          .map((x) => x.repeat(1e5)),
      ),
    ),
  ).rejects.toThrow("are kept");
  expect(workspace.artifacts().map(({ name, size }) => [name, size])).toEqual([
    ["out.pdf", 7],
    ["empty", 0],
  ]);
  for (const name of ["..", "/x", "out.pdf/x"]) {
    expect(() => workspace.checkName(name), name).toThrow();
    await expect(workspace.save(name, pieces("x")), name).rejects.toMatchObject({
      code: "invalid_file_name",
    });
  }
});
