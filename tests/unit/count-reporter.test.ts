/** The closing line of a test run tells the truth: what passed, what failed, and that nothing ran. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

const PROJECT = path.resolve(import.meta.dirname, "../..");
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(path.join(realpathSync(tmpdir()), "cyrnel-reporter-"));
  symlinkSync(path.join(PROJECT, "tests/packages/node_modules"), path.join(directory, "node_modules"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function run(source: string): { lastLine: string | undefined; status: number | null } {
  writeFileSync(path.join(directory, "some.test.ts"), `import { test } from "vitest";\n${source}`);
  const program = path.join(PROJECT, "tests/packages/node_modules/.bin/vitest");
  const reporter = path.join(PROJECT, "tests/count-reporter.ts");
  // A run inside a run: the outer one's settings are no business of the inner one.
  const environment = { PATH: process.env.PATH ?? "", HOME: directory, NO_COLOR: "1" };
  const args = ["run", "--root", directory, "--reporter", reporter];
  const { stdout, status } = spawnSync(program, args, { env: environment, encoding: "utf8" });
  return { lastLine: stdout.trimEnd().split("\n").at(-1), status };
}

test("counts what passed", () => {
  expect(run('test("one", () => {}); test("two", () => {});')).toEqual({
    lastLine: "2 passed, 0 failed",
    status: 0,
  });
});

test("counts what failed and what was skipped", () => {
  const outcome = run(
    'test("good", () => {}); test("bad", () => { throw new Error(); }); test.skip("no", () => {});',
  );
  expect(outcome).toEqual({ lastLine: "1 passed, 1 failed, 1 skipped", status: 1 });
});

test("a file that cannot be loaded has failed", () => {
  expect(run('throw new Error("at load");')).toEqual({ lastLine: "0 passed, 1 failed", status: 1 });
});

test("a file whose clean-up fails has failed", () => {
  const outcome = run(
    'import { afterAll } from "vitest"; afterAll(() => { throw new Error(); }); test("good", () => {});',
  );
  expect(outcome).toEqual({ lastLine: "1 passed, 1 failed", status: 1 });
});

test("a run that executes no test has failed", () => {
  expect(run('test.skip("no", () => {});')).toEqual({ lastLine: "0 passed, 0 failed, 1 skipped", status: 1 });
});
