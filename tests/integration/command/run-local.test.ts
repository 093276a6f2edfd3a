/** `cyrnel run --local`: no server, no database; every way a script ends as an exit code. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CYRNEL, cyrnel, type Folder, makeFolder, type Started, startCyrnel } from "./cyrnel.ts";

let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

const WAITS = 'console.log("up"); await new Promise((done) => setTimeout(done, 60_000));';

function listChildren({ child }: Started): number[] {
  const text = execFileSync("ps", ["-o", "pid=", "--ppid", String(child.pid)], { encoding: "utf8" });
  return text.trim().split(/\s+/).map(Number);
}

const runLocal = (code: string, ...flags: string[]) =>
  cyrnel(["run", "-", "--local", ...flags], { input: code });

test("streams stdout and stderr, and prints the result last", async () => {
  const file = await folder.write(
    "hello.ts",
    'const words: string[] = ["a", "b"]; console.log("out"); console.error("err"); return { words };',
  );
  const { code, stdout, stderr } = await cyrnel(["run", file, "--local"]);
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: 'out\n{"words":["a","b"]}\n',
    stderr: "err\n",
  });
});

describe("files", () => {
  test("--dir is the workspace, --artifacts takes what the script writes", async () => {
    await folder.write("data/in/orders.csv", "id\n1\n2\n");
    await folder.write("data/.git/config", "secret");
    await folder.write("data/node_modules/a/index.js", "x");
    await symlink("/etc/passwd", join(folder.path, "data/link"));
    const script = await folder.write(
      "files.ts",
      `const ids = []; for await (const line of cyrnel.files.lines("in/orders.csv")) ids.push(line);
      await cyrnel.files.write("out/ids.json", ids); await cyrnel.files.append("in/orders.csv", "3\\n");
      return (await cyrnel.files.list()).map(({ name }) => name);`,
    );
    const out = join(folder.path, "out-folder");
    const data = join(folder.path, "data");
    const run = await cyrnel(["run", script, "--local", "--dir", data, "--artifacts", out]);
    expect([run.code, run.stdout, run.stderr]).toEqual([0, '["in/orders.csv","out/ids.json"]\n', ""]);
    expect(readFileSync(join(out, "out/ids.json"), "utf8")).toBe('["id","1","2"]');
    expect(readFileSync(join(out, "in/orders.csv"), "utf8")).toBe("id\n1\n2\n3\n");
    expect(readFileSync(join(data, "in/orders.csv"), "utf8")).toBe("id\n1\n2\n");
  });

  test("an artifact is written to no place that a link leads to, and takes the place of a link", async () => {
    const out = join(folder.path, "linked");
    await folder.write("linked/keep.txt", "x");
    const outside = await folder.write("outside/a.txt", "untouched");
    await symlink(join(folder.path, "outside"), join(out, "sub"));
    await symlink(outside, join(out, "a.txt"));
    const through = await runLocal('await cyrnel.files.write("sub/a.txt", "changed")', "--artifacts", out);
    expect(through.code).not.toBe(0);
    expect(through.stderr).toContain("is not a folder");
    const over = await runLocal('await cyrnel.files.write("a.txt", "changed")', "--artifacts", out);
    expect(over.code).toBe(0);
    expect(readFileSync(outside, "utf8")).toBe("untouched");
    expect(readFileSync(join(out, "a.txt"), "utf8")).toBe("changed");
  });

  test("what was complete when a run failed is kept; a folder that is none is a usage error", async () => {
    const out = join(folder.path, "failed");
    const run = await runLocal(
      'await cyrnel.files.write("a.txt", "kept"); throw new Error("no")',
      "--artifacts",
      out,
    );
    expect([run.code, readFileSync(join(out, "a.txt"), "utf8")]).toEqual([1, "kept"]);
    const none = await runLocal("return 1", "--dir", join(folder.path, "nowhere"));
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("is not a folder")]);
  });
});

describe("the input", () => {
  const script = () => folder.write("input.ts", "return cyrnel.input");

  test("comes from a file, from standard input and from --set, on top of each other", async () => {
    const file = await folder.write("input.json", '{ "a": { "b": 1 }, "list": [1] }\n');
    const all = ["--local", "--input", file, "--set", "a.c=2", "--set", "name=Ada L.", "--set", "on=true"];
    expect((await cyrnel(["run", await script(), ...all])).stdout).toBe(
      '{"a":{"b":1,"c":2},"list":[1],"name":"Ada L.","on":true}\n',
    );
    const piped = await cyrnel(["run", await script(), "--local", "--input", "-"], { input: "[1, null]" });
    expect([piped.code, piped.stdout]).toEqual([0, "[1,null]\n"]);
    const set = ["--set", "x.y.z=[1]", "--set", 'x.w="1"', "--set", "text=a=b"];
    expect((await cyrnel(["run", await script(), "--local", ...set])).stdout).toBe(
      '{"x":{"y":{"z":[1]},"w":"1"},"text":"a=b"}\n',
    );
    const names = await runLocal("return Object.entries(cyrnel.input)", "--set", "constructor.a=1");
    expect(names.stdout).toBe('[["constructor",{"a":1}]]\n');
    expect((await runLocal("return typeof cyrnel.input")).stdout).toBe('"undefined"\n');
  });

  test("tells of the integers that a script gets rounded", async () => {
    const flags = ["--local", "--input", "-", "--set", "b.c=9007199254740995"];
    const ended = await cyrnel(["run", await script(), ...flags], { input: '{"a":[9007199254740993]}' });
    expect([ended.code, ended.stdout]).toEqual([0, '{"a":[9007199254740992],"b":{"c":9007199254740996}}\n']);
    for (const path of ["input.a[0] is 9007199254740993", "input.b.c is 9007199254740995"]) {
      expect(ended.stderr).toContain(`${path}, and was rounded`);
    }
  });

  test.each([
    { flags: ["--input", "missing.json"], says: "missing.json cannot be read: there is no such file." },
    { flags: ["--input", "-"], input: "{a: 1}", says: "Standard input (--input -) must be JSON: " },
    { flags: ["--input", "-"], input: "[1]", more: ["--set", "a=1"], says: "the input has a list there" },
    {
      flags: ["--set", "a=1", "--set", "a.b=2"],
      says: '--set a.b needs an object to set "b" in; the input has a number',
    },
    {
      flags: ["--input", "-"],
      input: '{"a": 9007199254740993}',
      more: ["--set", "a.b=2"],
      says: '--set a.b needs an object to set "b" in; the input has a number',
    },
    { flags: ["--set", "a..b=2"], says: "Expected --set name=value or a.b=value" },
    ...["__proto__", "__proto__.a", "a.__proto__.b", "constructor.prototype.a"].map((name) => ({
      flags: ["--set", `${name}=1`],
      says: `--set ${name} names a member that no input may have`,
    })),
    { flags: ["--set", "a"], says: 'Expected name=value; found "a".' },
  ])("that cannot be used is refused with 2: $says", async ({ flags, more = [], input = "", says }) => {
    const ended = await cyrnel(["run", await script(), "--local", ...flags, ...more], { input });
    expect(ended.stderr).toContain(says);
    expect([ended.code, ended.stdout]).toEqual([2, ""]);
  });

  test("cannot come from standard input together with the script, and is bounded", async () => {
    expect(await runLocal("return 1", "--input", "-")).toMatchObject({ code: 2, stdout: "" });
    const file = await folder.write("large.json", JSON.stringify("x".repeat(1024 * 1024)));
    const ended = await cyrnel(["run", await script(), "--local", "--input", file]);
    expect(ended.stderr).toContain("The input must be at most 1048576 bytes of JSON text; found 1048578.");
    expect([ended.code, ended.stdout]).toEqual([2, ""]);
  });
});

describe("exit codes", () => {
  test.each([
    { ending: "success without a result", code: 0, script: "const nothing = 1;", says: "" },
    {
      ending: "a script that throws",
      code: 1,
      script: 'throw new TypeError("no\\ntea")',
      says: "[script_error]",
    },
    { ending: "a syntax error", code: 1, script: "const = 1", says: "[syntax_error]" },
    { ending: "a time-out", code: 3, script: "for (;;);", flags: ["--timeout", "300ms"], says: "[timeout]" },
    {
      ending: "too much memory",
      code: 4,
      script: "const all: number[][] = []; for (;;) all.push(new Array(100_000).fill(1));",
      flags: ["--memory", "64"],
      says: "[memory_limit]",
    },
    { ending: "too much CPU", code: 4, script: "for (;;);", flags: ["--cpu", "300ms"], says: "[cpu_limit]" },
  ])("$code for $ending", async ({ code, script, flags = [], says }) => {
    const ended = await runLocal(script, ...flags);
    expect(ended.stderr).toContain(says);
    expect(ended.code).toBe(code);
    expect(ended.stderr.trimEnd().split("\n").length).toBe(1);
  });

  test("1 with the place of the error in the file", async () => {
    const file = await folder.write(
      "fails.ts",
      "interface A { b?: string }\nconst a: A = {};\nreturn a.b!.length;",
    );
    const { code, stderr } = await cyrnel(["run", file, "--local"]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `cyrnel: TypeError: Cannot read properties of undefined (reading 'length') (${file}:3:13) [script_error]\n`,
    );
  });

  test.runIf(process.platform === "linux")(
    "78 where required isolation is not available, and nothing is run",
    async () => {
      const ended = await runLocal(
        'console.log("ran")',
        "--isolation",
        "development",
        "--require",
        "seccomp,landlock",
      );
      expect(ended.code).toBe(78);
      expect(ended.stdout).toBe("");
      expect(ended.stderr).toMatch(
        /^cyrnel: seccomp was required and is not available: .* \[isolation_unavailable\]\n$/,
      );
    },
  );

  test.each([[[]], [["--memory", "200"]], [["--isolation", "standard"]], [["--require", "strict"]]])(
    "one child, whatever is asked of it: %s",
    async (flags) => {
      const started = startCyrnel(["run", "-", "--local", ...flags], { input: WAITS });
      while (!started.stdout().includes("up")) await sleep(20);
      const children = listChildren(started).filter((pid) =>
        readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("child.js"),
      );
      expect(children.length).toBe(1);
      started.child.kill("SIGINT");
      expect((await started.ended).code).toBe(6);
    },
  );

  test("0 where it does", async () => {
    expect((await runLocal("return 1", "--require", "seccomp,landlock,limits,strict,permissions")).code).toBe(
      0,
    );
  });

  test("5 for a forbidden system call, as the kernel ends a child for one", async () => {
    const started = startCyrnel(["run", "-", "--local"], { input: WAITS });
    while (!started.stdout().includes("up")) await sleep(20);
    const children = listChildren(started).filter((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("child.js"),
    );
    expect(children.length).toBe(1);
    for (const pid of children) process.kill(pid, "SIGSYS");
    const ended = await started.ended;
    expect(ended.stderr).toContain("[sandbox_violation]");
    expect(ended.code).toBe(5);
  });

  test("6 for Ctrl-C, and no child is left", async () => {
    const started = startCyrnel(["run", "-", "--local"], { input: WAITS });
    while (!started.stdout().includes("up")) await sleep(20);
    const children = listChildren(started);
    expect(children.length).toBeGreaterThan(0);
    started.child.kill("SIGINT");
    const ended = await started.ended;
    expect(ended.code).toBe(6);
    expect(ended.stderr).toBe("cyrnel: The run was killed. [killed]\n");
    const left = () => children.filter((pid) => existsSync(`/proc/${pid}`));
    await expect.poll(left, { timeout: 10_000 }).toEqual([]);
  });
});

describe("--json", () => {
  test("is one document, with all that a program wants", async () => {
    const ended = await runLocal('console.log("out"); cyrnel.output({ step: 1 }); return [1]', "--json");
    expect(ended.json()).toMatchObject({
      exitState: "success",
      reason: "ok",
      result: [1],
      stdout: "out\n",
      stderr: "",
      output: { step: 1 },
      error: null,
      exitCode: 0,
    });
    expect(ended.json().usage.cpuMs).toBeGreaterThanOrEqual(0);
  });

  test("says the same of a failure, on standard output and in the exit code", async () => {
    const ended = await runLocal("throw new Error('x')", "--json");
    expect(ended.code).toBe(1);
    expect(ended.stderr).toBe("");
    expect(ended.json()).toMatchObject({ exitState: "failed", reason: "script_error", exitCode: 1 });
  });
});

describe("tools", () => {
  test("are functions of a module of one's own", async () => {
    const tools = await folder.write(
      "tools.ts",
      "export const shop = { list: async ({ from }: { from: number }) => [from, from + 1] };",
    );
    const ended = await runLocal("return await tools.shop.list({ from: 3 })", "--tools", tools);
    expect(ended).toMatchObject({ code: 0, stdout: "[3,4]\n" });
  });

  test("have the requests of fetch, which goes nowhere without them", async () => {
    const script = 'return await (await fetch("https://api.test/a?b")).text()';
    const refused = await runLocal(script);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("a run without a server has no rules that allow requests");
    expect(refused.stderr).toContain("--tools <module that exports fetch>");
    const tools = await folder.write(
      "fetch.ts",
      "export const fetch = async (asked: Request) => new Response(asked.method + ' ' + asked.url);",
    );
    const answered = await runLocal(script, "--tools", tools);
    expect(answered).toMatchObject({ code: 0, stdout: '"GET https://api.test/a?b"\n' });
  });

  test("that are destructive are refused without a terminal, and called with --yes", async () => {
    const tools = await folder.write(
      "destructive.ts",
      'export default [{ path: "shop.remove", destructive: true, invoke: () => "gone" }];',
    );
    const script = "return await tools.shop.remove({})";
    const refused = await runLocal(script, "--tools", tools);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("[approval_denied]");
    expect(await runLocal(script, "--tools", tools, "--yes")).toMatchObject({ code: 0, stdout: '"gone"\n' });
  });
});

describe("what cannot be used is told in one line, with exit code 2", () => {
  test.each([
    { what: "a missing file", args: ["run", "/nowhere/x.ts", "--local"], code: "no_such_file" },
    { what: "a folder", args: ["run", "/", "--local"], code: "unreadable_file" },
    { what: "an unknown option", args: ["run", "-", "--fast"], code: "usage" },
    { what: "an unknown command", args: ["runn"], code: "usage" },
    { what: "no command", args: [], code: "usage" },
    { what: "a time that is none", args: ["run", "-", "--local", "--timeout", "soon"], code: "usage" },
    { what: "a size that is none", args: ["run", "-", "--local", "--memory", "-5"], code: "usage" },
    { what: "an unknown requirement", args: ["run", "-", "--local", "--require", "magic"], code: "usage" },
    { what: "tools for a server", args: ["run", "-", "--tools", "x.ts"], code: "usage" },
    {
      what: "tools that do not load",
      args: ["run", "-", "--local", "--tools", "/nowhere.ts"],
      code: "invalid_tools",
    },
    { what: "standard input to watch", args: ["run", "-", "--watch"], code: "usage" },
    { what: "an address that is none", args: ["ps", "--url", "ftp://x"], code: "invalid_url" },
  ])("$what", async ({ args, code }) => {
    const ended = await cyrnel(args, { input: "return 1" });
    expect(ended.stderr).toMatch(new RegExp(`^cyrnel: .* \\[${code}\\]\\n$`));
    expect(ended).toMatchObject({ code: 2, stdout: "" });
  });

  test("a script over the limit, and one that is no text", async () => {
    const large = await runLocal(`// ${"x".repeat(1_000_000)}`);
    expect(large).toMatchObject({
      code: 2,
      stderr: "cyrnel: Standard input is larger than 1000000 bytes. [too_large]\n",
    });
    const file = await folder.write("bytes.ts", "");
    await writeFile(file, Buffer.from([0x61, 0xff, 0xfe]));
    const binary = await cyrnel(["run", file, "--local"]);
    expect(binary.stderr).toContain("is not UTF-8 text. [not_text]");
  });

  test("with --json as JSON", async () => {
    const ended = await cyrnel(["run", "/nowhere/x.ts", "--json"]);
    expect(JSON.parse(ended.stderr)).toMatchObject({ code: "no_such_file", exitCode: 2 });
  });
});

test("what a script writes is passed on as it is in a pipe, and never reaches a terminal raw", async () => {
  const script =
    'console.log("a\\u001b[2J\\u009b31mb\\u202e\\rc\\ttab"); throw new Error("\\u001b]0;title\\u0007")';
  const piped = await runLocal(script);
  expect(piped.stdout).toBe("a\u001b[2J\u009b31mb\u202e\rc\ttab\n");
  // The ending is a line of the command's own, wherever it goes.
  expect(piped.stderr).toContain("Error: \\e]0;title\\u0007");
  expect(piped.stderr).not.toContain("\u001b");
});

test("a script may come out of a pipe that has a name", async () => {
  const pipe = `${folder.path}/pipe.ts`;
  const line = `mkfifo "${pipe}" && { echo "return 6" > "${pipe}" & "${CYRNEL}" run "${pipe}" --local; "${CYRNEL}" run <(echo "return 7") --local; }`;
  const ended = await cyrnel(["-c", line], { program: ["bash", "--norc"] });
  expect(ended).toMatchObject({ code: 0, stdout: "6\n7\n", stderr: "" });
});

test("a reader that leaves ends the command", async () => {
  const file = await folder.write("flood.ts", 'for (let i = 0; i < 20_000; i++) console.log("line " + i);');
  const ended = await cyrnel(
    ["-c", `"${CYRNEL}" run "${file}" --local | head -n 1; echo "\${PIPESTATUS[0]}"`],
    {
      program: ["bash", "--norc"],
    },
  );
  expect(ended.stdout).toMatch(/^line 0\n(141|0)\n$/);
});

test("--watch runs again when the file changes", async () => {
  const file = await folder.write("watched.ts", "return 1");
  const started = startCyrnel(["run", file, "--local", "--watch"]);
  while (!started.stderr().includes("Watching")) await sleep(20);
  while (!started.stdout().includes("2\n")) {
    await folder.write("watched.ts", "return 2");
    await sleep(300);
  }
  started.child.kill("SIGINT");
  const ended = await started.ended;
  expect(ended.stdout).toMatch(/^1\n(2\n)+$/);
  expect(ended.code).toBe(0);
});
