/** The host's side of a run's files, called as a child that was taken over could call it. */
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { checkFileName } from "#runner/file-names.ts";
import { createWorkspace, type Workspace } from "#runner/host/workspace.ts";

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
  return createWorkspace({ files, maxBytes, maxFiles });
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
