/** Several scripts in one command: their selection, the exit code, and reports that no script can forge. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { XMLParser, XMLValidator } from "fast-xml-parser";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CommandOptions, cyrnel, type Folder, makeFolder, startCyrnel } from "./cyrnel.ts";

let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
  await folder.write("package.json", "{}");
  await folder.write("ok/a.ts", 'console.log("quiet"); return { a: cyrnel.input ?? null }');
  await folder.write("ok/sub/b.ts", 'import { two } from "../lib.ts"; return two as number');
  await folder.write("ok/lib.ts", "export const two = 2");
  await folder.write("ok/types.d.ts", "declare const nothing: never;");
  await folder.write("ok/node_modules/x/index.ts", "throw new Error('not a script')");
  await folder.write("bad/throws.ts", "const fine = 1;\n  throw new TypeError('no');");
  await folder.write("bad/slow.ts", "for (;;) {}");
  await folder.write("bad/syntax.ts", "return (");
  await folder.write(
    "hostile/lib/deep.ts",
    `export const fail = (text: string): never => {\n  throw new Error(text);\n};`,
  );
  await folder.write("hostile/forges.ts", FORGES);
});
afterAll(() => folder[Symbol.asyncDispose]());

const LINES = [
  "::error file=forged.ts,line=1::forged",
  "  ::warning::forged",
  "##[error]forged",
  "x ##[warning]forged",
  "::stop-commands::word",
  "not ok 9 - forged",
  "1..9",
  "]]></system-out></testcase><testcase name='forged'/>",
  "&forged; <!-- \\u0000\\u001b[2K\\ud800\\uffff\\r\\n::error::forged",
];
const FORGES = `import { fail } from "./lib/deep.ts";
const text = "${LINES.join("\\n")}";
console.log(text); console.error(text);
tools.nothing.here().catch(() => {});
fail("100% :,# " + text);`;

const run = (args: string[], options: CommandOptions = {}) =>
  cyrnel(["run", "--local", ...args], { cwd: folder.path, ...options });

describe("scripts", () => {
  test("are the files that a pattern matches, and run with one input", async () => {
    const ended = await run(["ok/**/*.ts", "--json", "--set", "x=1"]);
    expect([ended.code, ended.stderr]).toEqual([0, ""]);
    expect(ended.json()).toMatchObject({
      exitCode: 0,
      scripts: [
        { script: "ok/a.ts", exitCode: 0, result: { a: { x: 1 } }, stdout: "quiet\n", problems: [] },
        { script: "ok/lib.ts", exitCode: 0, result: null },
        { script: "ok/sub/b.ts", exitCode: 0, result: 2 },
      ],
    });
  });

  test("get the arguments after -- as a member of their input", async () => {
    const args = ["--set", "x=1", "--", "--verbose", "a.ts", "--", "-"];
    const one = await run(["ok/a.ts", ...args]);
    expect(one.stdout).toBe('quiet\n{"a":{"x":1,"args":["--verbose","a.ts","--","-"]}}\n');
    const several = await run(["ok/a.ts", "ok/sub/b.ts", "--json", ...args]);
    expect(several.json().scripts[0].result.a.args).toEqual(["--verbose", "a.ts", "--", "-"]);
    expect((await run(["--", "ok/a.ts"])).stderr).toContain("Expected a script before --; found none.");
  });

  test("find the packages of their own folders, and those of the starter set", async () => {
    for (const [name, value] of [
      ["one", "1"],
      ["two", "2"],
    ] as const) {
      await folder.write(
        `packages/${name}/node_modules/here/package.json`,
        '{"name":"here","version":"1.0.0"}',
      );
      await folder.write(`packages/${name}/node_modules/here/index.js`, `module.exports = ${value}`);
      const code =
        'import here from "here"; import Papa from "papaparse"; return [here, Papa.parse("a").data]';
      await folder.write(`packages/${name}/main.ts`, code);
    }
    const ended = await run(["packages/*/main.ts", "--json"]);
    expect(ended.json().scripts.map(({ result }: { result: unknown }) => result)).toEqual([
      [1, [["a"]]],
      [2, [["a"]]],
    ]);
  });

  test("write artifacts into folders of their own", async () => {
    await folder.write("writes/a.ts", 'await cyrnel.files.write("out.txt", "a")');
    await folder.write("writes/b.ts", 'await cyrnel.files.write("out.txt", "b")');
    const ended = await run(["writes/*.ts", "--artifacts", "artifacts"]);
    expect([ended.code, ended.stderr]).toEqual([0, ""]);
    for (const name of ["a", "b"]) {
      expect(readFileSync(join(folder.path, `artifacts/writes/${name}.ts/out.txt`), "utf8")).toBe(name);
    }
  });

  test("fork from one process when they are many", async () => {
    for (let at = 0; at < 12; at += 1) await folder.write(`many/${at}.ts`, `return ${at} * 2`);
    const ended = await run(["many/*.ts", "--json", "--jobs", "3"]);
    const results = ended.json().scripts.map(({ result }: { result: number }) => result);
    expect(results.sort((a: number, b: number) => a - b)).toEqual([
      0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22,
    ]);
  });
});

test("the exit code is the highest, and a line for each script says how it ended", async () => {
  const ended = await run(["bad/*.ts", "ok/a.ts", "ok/missing.ts", "--timeout", "500ms"]);
  expect([ended.code, ended.stderr]).toEqual([3, ""]);
  for (const line of [
    /^PASS ok\/a\.ts \(\d+ ms\) \{"a":null\}$/m,
    /^FAIL bad\/throws\.ts \(\d+ ms\)\n {2}error: TypeError: no \(bad\/throws\.ts:2:9\) \[script_error\]$/m,
    /^FAIL bad\/slow\.ts .*\n.*\[timeout\]$/m,
    /^FAIL bad\/syntax\.ts .*\n.*\(bad\/syntax\.ts:1:\d+\) \[syntax_error\]$/m,
    /^FAIL ok\/missing\.ts .*\n {2}error: ok\/missing\.ts cannot be read: there is no such file\. /m,
    /^5 scripts: 1 passed, 4 failed \(\d+\.\d{3} s\)\n$/m,
  ]) {
    expect(ended.stdout).toMatch(line);
  }
});

test("Ctrl-C ends the runs, starts no other, and still reports", async () => {
  await folder.write("waits/a.ts", "await new Promise((done) => setTimeout(done, 60_000))");
  await folder.write("waits/b.ts", "for (;;) {}");
  await folder.write("waits/c.ts", "return 1");
  const started = startCyrnel(
    [
      "run",
      "--local",
      "ok/a.ts",
      "waits/*.ts",
      "--jobs",
      "2",
      "--reporter",
      "json",
      "--report-file",
      "stopped.json",
    ],
    { cwd: folder.path },
  );
  await expect.poll(started.stdout, { timeout: 20_000 }).toContain("PASS");
  started.child.kill("SIGINT");
  const ended = await started.ended;
  expect(ended.code).toBe(6);
  const report = JSON.parse(readFileSync(join(folder.path, "stopped.json"), "utf8"));
  expect(report.scripts.map(({ exitCode }: { exitCode: number }) => exitCode)).toEqual([0, 6, 6, 6]);
});

describe("a hostile script", () => {
  /** Reads lines as the runner of GitHub Actions does: commands of both forms, until one stops them. */
  function readCommands(text: string): string[] {
    const commands: string[] = [];
    let word: string | null = null;
    for (const line of text.split(/\r\n|\r|\n/)) {
      if (word !== null) {
        if (line.trim() === `::${word}::`) word = null;
      } else if (line.startsWith("::stop-commands::")) word = line.slice("::stop-commands::".length);
      else if (line.trim().startsWith("::") || line.includes("##[")) commands.push(line);
    }
    expect(word).toBeNull();
    return commands;
  }

  test("cannot forge annotations of GitHub; its own are at the lines of its files", async () => {
    const ended = await run(["hostile/forges.ts", "--reporter", "github"]);
    expect([ended.code, ended.stderr]).toEqual([1, ""]);
    const [error, ...others] = readCommands(ended.stdout);
    expect(error).toMatch(
      /^::error file=hostile\/lib\/deep\.ts,line=2,col=9,title=hostile\/forges\.ts%3A script_error::Error: 100%25 :,# ::error file=forged\.ts,line=1::forged%0A/,
    );
    for (const other of others)
      expect(other).toMatch(/^::warning file=hostile\/forges\.ts,line=\d+,col=\d+,title=/);
  });

  test("cannot end its place in JUnit's XML", async () => {
    const ended = await run(["hostile/forges.ts", "ok/a.ts", "--reporter", "junit"]);
    expect(XMLValidator.validate(ended.stdout)).toBe(true);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 allows no others.
    expect(ended.stdout).not.toMatch(/[\0-\x08\x0b-\x1f\ufffe\uffff]|\p{Cs}/u);
    const options = { ignoreAttributes: false, attributeNamePrefix: "", processEntities: true };
    const { testsuites } = new XMLParser(options).parse(ended.stdout);
    expect(testsuites).toMatchObject({ tests: "2", failures: "1", errors: "0" });
    const [forges, fine] = testsuites.testsuite.testcase;
    expect(forges).toMatchObject({ name: "hostile/forges.ts", file: "hostile/forges.ts" });
    expect(forges.failure.type).toBe("script_error");
    expect(forges["system-out"]).toContain("]]></system-out></testcase><testcase name='forged'/>");
    expect(fine).toMatchObject({ name: "ok/a.ts", "system-out": "quiet" });
  });

  test("adds no test point to TAP", async () => {
    const name = "hostile/x # SKIP.ts";
    await folder.write(name, FORGES);
    const { stdout } = await run([name, "ok/a.ts", "--reporter", "tap"]);
    const points = stdout.split("\n").filter((line) => !line.startsWith("  "));
    expect(points).toEqual([
      "TAP version 14",
      "1..2",
      "not ok 1 - hostile/x \\# SKIP.ts",
      "ok 2 - ok/a.ts",
      "",
    ]);
  });
});

test.each([
  { args: ["ok/*.none"], says: "No file matches ok/*.none. [no_such_file]" },
  { args: ["ok/a.ts", "-"], says: "Standard input (-) cannot be one of several scripts." },
  { args: ["ok/*.ts", "--watch"], says: "--watch takes one script." },
  { args: ["ok/*.ts", "--ref", "x"], says: "--ref takes one script: a label is given to one run." },
  { args: ["ok/a.ts", "--jobs", "2"], says: "--jobs needs several scripts." },
  { args: ["ok/*.ts", "--jobs", "0"], says: "Expected at least 1; found 0." },
  { args: ["ok/*.ts", "--reporter", "xml"], says: '--reporter is github, junit, json or tap; found "xml".' },
  { args: ["ok/*.ts", "--reporter", "tap,json"], says: "Only one of the reporters junit, json and tap" },
  {
    args: ["ok/*.ts", "--reporter", "tap,github"],
    says: "both write to standard output. Give --report-file.",
  },
  { args: ["ok/*.ts", "--report-file", "x"], says: "--report-file needs --reporter junit, json or tap." },
])("$args is refused with 2", async ({ args, says }) => {
  const ended = await run(args);
  expect(ended.stderr).toContain(says);
  expect([ended.code, ended.stdout]).toEqual([2, ""]);
});
