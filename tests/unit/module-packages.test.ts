/** Packages from hostile hands: what is refused, that the limits hold while streaming, and that nothing lands outside. */
import { lstat, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createAcceptedPaths, splitEntryPath } from "#api/bounds/entry-paths.ts";
import { PACKAGE_LIMITS, PackageRefused, unpackPackage } from "#api/components/modules/packages/unpack.ts";
import { makePackage, makeTar, type PackEntry } from "#tests/integration/custom-modules/packs.ts";

let root: string;
let target: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), "cyrnel-unpack-"));
  target = path.join(root, "deep", "target");
  await mkdir(target, { recursive: true });
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function unpack(entries: readonly PackEntry[], limits = {}): Promise<string[]> {
  await unpackPackage(await makePackage(entries), target, { ...PACKAGE_LIMITS, ...limits });
  return (await readdir(target, { recursive: true })).sort();
}

async function expectRefused(work: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(PackageRefused);
  expect((error as Error).message).toMatch(message);
  // Whatever was written is inside the folder that the caller removes.
  expect(await readdir(root)).toEqual(["deep"]);
  expect(await readdir(path.join(root, "deep"))).toEqual(["target"]);
}

test("files and folders are unpacked; of the modes only the permission to execute is kept", async () => {
  const found = await unpack([
    { name: "./", type: "directory" },
    { name: "./bin/", type: "directory", mode: 0o777 },
    { name: "./bin/run", data: "#!/bin/sh\n", mode: 0o6755 },
    { name: "lib/deep/er.js", data: "x".repeat(300_000), mode: 0o666 },
    { name: "empty", data: "" },
    { name: "ünïcödé/文", data: "ok" },
  ]);
  expect(found).toEqual(
    ["bin", "bin/run", "empty", "lib", "lib/deep", "lib/deep/er.js", "ünïcödé", "ünïcödé/文"].sort(),
  );
  const mode = async (name: string) => ((await lstat(path.join(target, name))).mode & 0o7777).toString(8);
  const umask = process.umask();
  expect(await mode("bin/run")).toBe((0o755 & ~umask).toString(8));
  expect(await mode("lib/deep/er.js")).toBe((0o644 & ~umask).toString(8));
  expect(await mode("bin")).toBe((0o755 & ~umask).toString(8));
  expect(await readFile(path.join(target, "lib/deep/er.js"), "utf8")).toBe("x".repeat(300_000));
});

describe("what leads out or is no plain file", () => {
  test.each<[string, PackEntry, RegExp]>([
    ["upwards", { name: "../evil", data: "x" }, /leads upwards/],
    ["upwards in the middle", { name: "a/../../evil", data: "x" }, /leads upwards/],
    ["an absolute path", { name: "/etc/evil", data: "x" }, /is absolute/],
    ["a drive", { name: "C:/evil", data: "x" }, /is absolute/],
    ["a backslash", { name: "..\\evil", data: "x" }, /backslash/],
    ["a control character", { name: "a\nb", data: "x" }, /control characters/],
    ["a very long path", { name: `${"a/".repeat(600)}b`, data: "x" }, /longer than 1000 bytes/],
    ["a very deep path", { name: `${"a/".repeat(40)}b`, data: "x" }, /more than 32 levels/],
    ["a very long name", { name: "n".repeat(300), data: "x" }, /more than 255 bytes/],
    ["a symbolic link", { name: "link", type: "symlink", linkname: "/etc/passwd" }, /is a symlink/],
    ["a hard link", { name: "link", type: "link", linkname: "/etc/passwd" }, /is a link/],
    ["a device", { name: "null", type: "character-device", devmajor: 1, devminor: 3 }, /character-device/],
    ["a block device", { name: "sda", type: "block-device" }, /block-device/],
    ["a pipe", { name: "pipe", type: "fifo" }, /is a fifo/],
    ["the host's own note", { name: ".cyrnel-package.json", data: "{}" }, /is reserved for the server/],
  ])("%s is refused", async (_, entry, message) => {
    await expectRefused(unpack([{ name: "first", data: "x" }, entry]), message);
    expect(await readdir(target)).not.toContain(entry.name);
  });

  test("a path given by a pax header or a long name is checked like any other", async () => {
    await expectRefused(unpack([{ name: "a", pax: { path: "../../evil" }, data: "x" }]), /leads upwards/);
  });

  test("a link that a later file would be written through is refused before the file comes", async () => {
    await expectRefused(
      unpack([
        { name: "out", type: "symlink", linkname: ".." },
        { name: "out/evil", data: "x" },
      ]),
      /is a symlink/,
    );
  });
});

describe("what clashes", () => {
  test.each<[string, PackEntry[], RegExp]>([
    ["the same file", [{ name: "a" }, { name: "a" }], /is in the package twice/],
    ["the same file, written otherwise", [{ name: "a/b" }, { name: "a/./b" }], /twice/],
    [
      "the same folder",
      [
        { name: "a/", type: "directory" },
        { name: "a", type: "directory" },
      ],
      /twice/,
    ],
    ["names that differ in case", [{ name: "Readme" }, { name: "README" }], /the same file/],
    ["folders that differ in case", [{ name: "Lib/a" }, { name: "lib/b" }], /the same file/],
    ["names that differ in composition", [{ name: "\u00e9" }, { name: "e\u0301" }], /the same file/],
    ["a file where a folder is", [{ name: "a/b" }, { name: "a" }], /twice/],
    ["a folder where a file is", [{ name: "a" }, { name: "a/b" }], /twice/],
  ])("%s is refused", async (_, entries, message) => {
    await expectRefused(unpack(entries.map((entry) => ({ data: "x", ...entry }))), message);
  });

  test("a folder that is announced after its contents is not", async () => {
    expect(
      await unpack([
        { name: "a/b", data: "x" },
        { name: "a/", type: "directory" },
      ]),
    ).toEqual(["a", "a/b"]);
  });
});

describe("bombs", () => {
  test("a package beyond the packed limit is not even opened", async () => {
    const bytes = Buffer.alloc(PACKAGE_LIMITS.maxPackedBytes + 1);
    await expectRefused(unpackPackage(bytes, target), /the limit is 10485760/);
  });

  test("a small package that unpacks to gigabytes is cut off at the limit", async () => {
    const zeros = Buffer.alloc(64 * 1024 * 1024);
    const header = (await makeTar([{ name: "huge", data: "" }])).subarray(0, 512);
    // A header that promises more than the limit, then frames of zeros: 16 KB each 64 MiB.
    const promised = Buffer.from(header);
    promised.write("77777777777\0", 124, "latin1");
    promised.write("        ", 148, "latin1");
    const sum = promised.reduce((total, byte) => total + byte, 0);
    promised.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
    const bomb = zstdCompressSync(Buffer.concat([promised, zeros, zeros, zeros]));
    expect(bomb.length).toBeLessThan(100_000);
    await expectRefused(unpackPackage(bomb, target), /more than 104857600 bytes/);
    const written = (await lstat(path.join(target, "huge"))).size;
    expect(written).toBeLessThanOrEqual(PACKAGE_LIMITS.maxUnpackedBytes);
  });

  test("zeros after the end of the archive count too", async () => {
    const tar = await makeTar([{ name: "a", data: "x" }]);
    const bomb = zstdCompressSync(Buffer.concat([tar, Buffer.alloc(PACKAGE_LIMITS.maxUnpackedBytes)]));
    await expectRefused(unpackPackage(bomb, target), /more than 104857600 bytes/);
  });

  test("5,000 entries are taken, one more is not; folders that are only implied count", async () => {
    const files = (count: number) => Array.from({ length: count }, (_, n) => ({ name: `d/${n}`, data: "" }));
    await expectRefused(unpack(files(5000)), /more than 5000 files and folders/);
    await rm(target, { recursive: true });
    await mkdir(target);
    expect(await unpack(files(4999))).toHaveLength(5000);
  });

  test("a few entries whose paths make thousands of folders are cut off", async () => {
    const entries = Array.from({ length: 300 }, (_, n) => ({ name: `${`${n}/`.repeat(31)}f`, data: "" }));
    await expectRefused(unpack(entries), /more than 5000 files and folders/);
  });

  test("a header of many megabytes is refused", async () => {
    const pax = { comment: "x".repeat(5 * 1024 * 1024) };
    await expectRefused(unpack([{ name: "a", pax, data: "x" }]), /[Hh]eader/);
  });
});

describe("what is damaged", () => {
  test.each<[string, () => Promise<Buffer>, RegExp]>([
    ["no compression", () => makeTar([{ name: "a", data: "x" }]), /not compressed with Zstandard/],
    ["nothing at all", async () => Buffer.alloc(0), /not compressed with Zstandard/],
    ["an empty archive", () => makePackage([]), /is empty/],
    ["no archive inside", async () => zstdCompressSync(Buffer.from("hello".repeat(1000))), /tar/i],
    [
      "a cut",
      async () =>
        (await makePackage([{ name: "a", data: Buffer.from("xyz".repeat(5000)) }])).subarray(0, -20),
      /./,
    ],
    [
      "a cut archive in whole compression",
      async () =>
        zstdCompressSync((await makeTar([{ name: "a", data: "x".repeat(5000) }])).subarray(0, 3000)),
      /ends in the middle|end of data/,
    ],
    [
      "flipped bits",
      async () => {
        const bytes = await makePackage([
          { name: "a", data: Buffer.from(Array.from({ length: 9000 }, (_, n) => n * 7)) },
        ]);
        for (let at = 20; at < bytes.length; at += 97) bytes[at] = (bytes[at] ?? 0) ^ 0xff;
        return bytes;
      },
      /./,
    ],
  ])("%s is refused", async (_, make, message) => {
    await expectRefused(unpackPackage(await make(), target), message);
  });

  test("an endless wait is cut off", async () => {
    await expectRefused(
      unpack([{ name: "a", data: "x".repeat(10_000_000) }], { maxUnpackMs: 0 }),
      /within 0 ms/,
    );
  });
});

describe("paths, whatever they are", () => {
  test("an accepted path stays below the folder, and two accepted paths never meet", () => {
    const segment = fc.oneof(
      fc.constantFrom("..", ".", "", "a", "A", "b", "\u00e9", "e\u0301", "\\", "C:", "\0", "ﬁ", "İ", "ſ"),
      fc.string({ unit: "binary", maxLength: 8 }),
    );
    const name = fc.array(segment, { maxLength: 6 }).map((segments) => segments.join("/"));
    fc.assert(
      fc.property(fc.array(name, { maxLength: 12 }), (names) => {
        const accepted = createAcceptedPaths();
        const landed = new Set<string>();
        for (const candidate of names) {
          let segments: string[];
          try {
            segments = splitEntryPath(candidate);
            if (segments.length === 0) continue;
            accepted.add(segments, "file");
          } catch {
            continue;
          }
          const resolved = path.resolve("/root/of/module", ...segments);
          expect(resolved.startsWith("/root/of/module/")).toBe(true);
          const folded = resolved.normalize("NFC").toLowerCase();
          expect(landed.has(folded)).toBe(false);
          landed.add(folded);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
