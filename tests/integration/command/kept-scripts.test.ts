/** Scripts that `cyrnel run --local` has transpiled before: when what was kept is used, and when it must not be. */
import { chmod, chown, mkdir, readdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { findScriptFolder, openKeptScripts } from "#client/local/kept-scripts.ts";
import { cyrnel, type Folder, makeFolder } from "./cyrnel.ts";

const SCRIPT = "const six: number = 6;\nreturn six * 7;";
const KEPT = { ok: true, code: "async () => 1", mappings: "AAAA" } as const;
const NOBODY = 65_534;

let folder: Folder;
let scripts: string;
beforeEach(async () => {
  folder = await makeFolder();
  scripts = join(folder.path, "cyrnel/scripts");
  return () => folder[Symbol.asyncDispose]();
});

const run = (file: string, environment: Record<string, string> = { XDG_CACHE_HOME: folder.path }) =>
  cyrnel(["run", file, "--local"], { environment });

/** The only file there is. */
async function keptFile(): Promise<string> {
  const [name, more] = await readdir(scripts);
  expect(more).toBeUndefined();
  return join(scripts, name as string);
}

/** What is kept answers 1 then, so that a run shows where it comes from. */
async function change(path: string, members: Record<string, unknown> = {}): Promise<void> {
  const kept = JSON.parse(await readFile(path, "utf8"));
  await writeFile(path, JSON.stringify({ ...kept, code: "(async () => 1)", ...members }));
}

describe("the command", () => {
  test("keeps a script that it has transpiled, for this user alone, and uses it", async () => {
    const file = await folder.write("script.ts", SCRIPT);
    expect(await run(file)).toMatchObject({ code: 0, stdout: "42\n", stderr: "" });
    const kept = await keptFile();
    expect((await stat(kept)).mode & 0o777).toBe(0o600);
    expect((await stat(scripts)).mode & 0o777).toBe(0o700);
    expect(await run(file)).toMatchObject({ code: 0, stdout: "42\n", stderr: "" });
    await change(kept);
    expect(await run(file)).toMatchObject({ code: 0, stdout: "1\n", stderr: "" });
  });

  test("tells the place of an error of a kept script as of a new one", async () => {
    const file = await folder.write("fails.ts", "interface A {}\n\nthrow new Error('x');");
    const first = await run(file);
    expect(first.stderr).toContain(`${file}:3:7`);
    await keptFile();
    expect(await run(file)).toMatchObject({ code: 1, stdout: first.stdout, stderr: first.stderr });
  });

  test.each([
    { what: "another source", spoil: (path: string) => change(path, { source: "return 2" }) },
    { what: "what another release made", spoil: (path: string) => change(path, { build: "other" }) },
    { what: "code that is no text", spoil: (path: string) => change(path, { code: 1 }) },
    { what: "a list", spoil: (path: string) => writeFile(path, "[1]") },
    { what: "null", spoil: (path: string) => writeFile(path, "null") },
    { what: "the half of a file", spoil: (path: string) => writeFile(path, '{"build":"') },
    { what: "an empty file", spoil: (path: string) => writeFile(path, "") },
    {
      what: "a file that others may write to",
      spoil: async (path: string) => {
        await change(path);
        await chmod(path, 0o620);
      },
    },
    {
      what: "a link",
      spoil: async (path: string) => {
        await change(path);
        await rename(path, `${path}.moved`);
        await symlink(`${path}.moved`, path);
      },
    },
    {
      what: "a folder in its place",
      spoil: async (path: string) => {
        await rename(path, `${path}.moved`);
        await mkdir(path);
      },
    },
  ])("does not use $what", async ({ spoil }) => {
    const file = await folder.write("script.ts", SCRIPT);
    await run(file);
    await spoil(await keptFile());
    expect(await run(file)).toMatchObject({ code: 0, stdout: "42\n", stderr: "" });
  });

  test.runIf(process.getuid?.() === 0)("does not use what another user has put there", async () => {
    const file = await folder.write("script.ts", SCRIPT);
    await run(file);
    const kept = await keptFile();
    await change(kept);
    await chown(kept, NOBODY, NOBODY);
    expect(await run(file)).toMatchObject({ code: 0, stdout: "42\n", stderr: "" });
  });

  test("keeps nothing of a syntax error, of standard input and without a folder for it", async () => {
    const wrong = await folder.write("wrong.ts", "const = 1");
    expect((await run(wrong)).code).toBe(1);
    const environment = { XDG_CACHE_HOME: folder.path };
    expect(await cyrnel(["run", "-", "--local"], { input: SCRIPT, environment })).toMatchObject({ code: 0 });
    const file = await folder.write("script.ts", SCRIPT);
    expect(await run(file, {})).toMatchObject({ code: 0, stdout: "42\n" });
    expect(await run(file, { XDG_CACHE_HOME: "/dev/null" })).toMatchObject({
      code: 0,
      stdout: "42\n",
      stderr: "",
    });
    await expect(readdir(scripts)).rejects.toThrow("ENOENT");
  });

  test("in the home folder, unless told otherwise", async () => {
    const file = await folder.write("script.ts", SCRIPT);
    expect(await run(file, { HOME: folder.path, XDG_CACHE_HOME: "relative" })).toMatchObject({ code: 0 });
    expect(await readdir(join(folder.path, ".cache/cyrnel/scripts"))).toHaveLength(1);
  });
});

test("a script that is as long as it may be is kept whole, a longer one not at all", () => {
  const kept = openKeptScripts(scripts, "build");
  const most = 256 * 1024 - KEPT.code.length - KEPT.mappings.length;
  // The longest of what may stand in a file: escaped, and a lone surrogate.
  const long = `${"\u0001\ud800\u4e00".repeat(10_000)}${"x".repeat(most - 30_000)}`;
  kept.keep(long, KEPT);
  expect(kept.read(long)).toEqual(KEPT);
  kept.keep(`${long}x`, KEPT);
  expect(kept.read(`${long}x`)).toBeNull();
});

test("there are never more files than 64, and each holds the last script that fell to it", async () => {
  const kept = openKeptScripts(scripts, "build");
  const sources = Array.from({ length: 500 }, (_, index) => `return ${index}`);
  for (const source of sources) {
    kept.keep(source, { ...KEPT, code: source });
    expect(kept.read(source)).toEqual({ ...KEPT, code: source });
  }
  expect((await readdir(scripts)).length).toBeLessThanOrEqual(64);
  const read = sources.map((source) => kept.read(source)?.code ?? null);
  expect(read.filter((code, index) => code !== null && code !== sources[index])).toEqual([]);
  expect(read.filter((code) => code !== null).length).toBeGreaterThan(32);
});

test.each([
  [{ XDG_CACHE_HOME: "/c", HOME: "/h" }, "/c/cyrnel/scripts"],
  [{ XDG_CACHE_HOME: "", HOME: "/h" }, "/h/.cache/cyrnel/scripts"],
  [{ HOME: "h" }, null],
  [{}, null],
])("where: %j", (environment, where) => {
  expect(findScriptFolder(environment)).toBe(where);
});
