/** Web-platform tests of fetch, bodies, forms and files, each file in a run of its own; what is left out stands in left-out.json. */
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRuntime } from "#client/index.ts";
import type { LocalRuntime } from "#client/kernel/local-model.ts";
import { FILES, runFile, serve } from "./run.ts";

/** Of all files together: raise it with them. */
const PASSED = 1073;

interface LeftOut {
  /** By file: why it is not there. */
  files: Record<string, string>;
  /** By file and reason: the tests that fail. */
  tests: Record<string, Record<string, string[]>>;
}

const leftOut = JSON.parse(
  await readFile(path.join(import.meta.dirname, "left-out.json"), "utf8"),
) as LeftOut;
let runtime: LocalRuntime;
let passed = 0;

beforeAll(async () => {
  runtime = createRuntime({ local: true, tools: { fetch: (request) => serve(request) } });
  await runtime.ready();
});
afterAll(() => runtime?.dispose());

test.each(globSync("**/*.any.js", { cwd: FILES }).sort())("%s", async (name) => {
  const outcomes = await runFile(runtime, name);
  const failed = outcomes.filter(({ ok }) => !ok).map((outcome) => outcome.name);
  expect(failed.sort()).toEqual(
    Object.values(leftOut.tests[name] ?? {})
      .flat()
      .sort(),
  );
  passed += outcomes.length - failed.length;
});

test("as many tests pass as did", () => {
  expect(passed).toBe(PASSED);
});
